// SPDX-License-Identifier: Apache-2.0
//
// Evaluates rules on packets, and on what is made of packets. Each worker has its own detector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "functions/ids/detect/compiled_rules.h"
#include "functions/ids/detect/flow_tracker.h"
#include "functions/ids/detect/packet_view.h"
#include "functions/ids/detect/session_facts.h"
#include "functions/ids/state/address_bits.h"
#include "functions/ids/state/threshold_table.h"
#include "functions/ids/verify/verifier.h"
#include "penumbra/per_worker.h"

namespace penumbra::ids {

struct DetectionCounters {
  std::uint64_t candidates = 0;  ///< Rules that passed the prefilter and the header.
  std::uint64_t verified = 0;    ///< Rules whose payload tests held.
  std::uint64_t matches = 0;
  std::uint64_t alerts = 0;
  std::uint64_t alerts_over_limit = 0;  ///< More than Detector::kMostAlerts for one packet.
};

/// Counts the work of one worker on a rule.
struct RuleCounts {
  Counter checks;  ///< Evaluations after the prefilter and the header.
  Counter matches;
  Counter cycles;  ///< Of the time stamp counter, in evaluations of the payload.
};

/// The object of an evaluation: a packet, or a part of a stream or of an application's protocol with the packet that
/// completed it.
struct Subject {
  const PacketView& packet;
  const BufferTable& buffers;
  FlowTracker::Found flow;                ///< Its flow is not null.
  std::uint64_t now = 0;                  ///< Microseconds since 1970.
  Needs needs = Needs::packet;            ///< Rules with other needs are not evaluated.
  bool is_alone = false;                  ///< A packet that is part of no stream, so rules for streams see it, too.
  const SessionFacts* session = nullptr;  ///< Null: the packet is not part of a session that is followed.
  /// The buffers without what is new. A rule that matches them has matched before. Null: everything is new.
  const BufferTable* before = nullptr;
};

class Detector {
 public:
  static constexpr std::size_t kMostAlerts = 15;  ///< Of one subject, as in Suricata.

  struct Limits {
    FlowLimits flows;
    std::size_t threshold_entries = 65536;
    std::size_t address_bits = 65536;  ///< Bits of xbits that may be set.
    VerifyLimits verify;
  };
  explicit Detector(const Limits& limits);
  Detector() : Detector(Limits{}) {}

  /// A match that is to be reported.
  struct Alert {
    const ActiveRule* rule = nullptr;
    bool to_server = true;
    std::uint64_t flow = 0;
    Action action = Action::alert;  ///< The rule's, or that of a rate filter.
  };
  struct Decision {
    const ActiveRule* rule = nullptr;  ///< The first rule that matched and whose action is not `alert`, or null.
    Action action = Action::alert;     ///< The action of the match: the rule's, or that of a rate filter.
    bool has_exceeded_limits = false;  ///< A verification ended by a limit, so that a match may be missed.

    /// Takes the match of a rule, unless another has decided.
    void note(const ActiveRule& active, Action action_of_match) {
      if (rule != nullptr) return;
      rule = &active;
      action = action_of_match;
    }
  };

  /// Updates the flow of a packet. Precondition: the packet is readable.
  FlowTracker::Found track(const PacketView& packet, std::uint64_t now) { return flows_.track(packet, now); }

  /// Evaluates rules and appends the alerts in the rules' order. Seeks the patterns itself.
  Decision inspect(const CompiledRules& rules, const Subject& subject, std::vector<Alert>& alerts);
  /// Does the same for a packet whose payload the shader has searched with the patterns of `rules`.
  Decision inspect(const CompiledRules& rules, const Subject& subject, const patterns_found& found,
                   std::vector<Alert>& alerts);
  /// Does the same for a packet in whose payload Hyperscan has found these patterns.
  Decision inspect(const CompiledRules& rules, const Subject& subject, std::span<const std::uint32_t> patterns,
                   std::vector<Alert>& alerts);
  /// Tracks and inspects a packet. Returns no decision for a packet whose flow is passed, or for whose flow there is no
  /// room.
  Decision inspect(const CompiledRules& rules, const PacketView& packet, std::uint64_t now, std::vector<Alert>& alerts);

  /// Counts what is done with each rule in `counts`, which has an element for each rule, until the next call. Empty:
  /// nothing is counted by rule.
  void count_in(std::span<RuleCounts> counts) { rule_counts_ = counts; }

  const DetectionCounters& counters() const { return counters_; }
  const VerifyCounters& verify_counters() const { return verifier_.counters(); }
  const ThresholdTable& thresholds() const { return thresholds_; }
  const AddressBits& address_bits() const { return address_bits_; }
  FlowTracker& flows() { return flows_; }

 private:
  void begin(const CompiledRules& rules);
  void search(const CompiledRules& rules, const Subject& subject, Needs needs);
  void add_candidate(std::uint32_t rule);
  Decision evaluate(const CompiledRules& rules, const Subject& subject, std::vector<Alert>& alerts);
  bool matches(const ActiveRule& active, std::uint32_t number, const Subject& subject, bool wants_ip_only);
  Action action_of(const ActiveRule& active, const Subject& subject);
  ThresholdOutcome count_for_threshold(const ActiveRule& active, const Subject& subject);

  FlowTracker flows_;
  ThresholdTable thresholds_;
  AddressBits address_bits_;
  Verifier verifier_;
  BufferTable buffers_;
  std::vector<std::uint32_t> candidates_;  ///< Numbers of rules to evaluate.
  std::vector<std::uint32_t> round_of_;    ///< By rule: the last round that made it a candidate.
  std::uint32_t round_ = 0;
  std::span<RuleCounts> rule_counts_;
  DetectionCounters counters_;
};

}  // namespace penumbra::ids
