// SPDX-License-Identifier: Apache-2.0
//
// A rule set prepared for detection: rules in the order of evaluation, and the groups of patterns that choose among
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "functions/ids/detect/pattern_group.h"
#include "functions/ids/rules/rule_set.h"
#include "functions/ids/state/bit_store.h"
#include "functions/ids/verify/verifier.h"

namespace penumbra::ids {

/// A rule that is evaluated.
struct ActiveRule {
  const Rule* rule = nullptr;
  std::uint64_t key = 0;  ///< Of the rule in every rule set: gid and sid.
  PreparedRule prepared;
  std::vector<PreparedBits> bits;
  const Threshold* threshold = nullptr;             ///< Of threshold.config or the rule's own, or null.
  std::vector<const ThresholdEntry*> suppressions;  ///< Of threshold.config.
  const ThresholdEntry* rate_filter = nullptr;      ///< The first of threshold.config, or null.
  Needs needs = Needs::packet;
  PacketUse packet_use = PacketUse::only;
  bool is_ip_only = false;                                ///< Evaluated once for each direction of a flow.
  bool is_about_recognition = false;                      ///< Evaluated when the protocol is recognized.
  bool reads_application = false, reads_payload = false;  ///< Some test is on such a buffer.
};

/// Immutable once packets are inspected, so that workers can share it.
class CompiledRules {
 public:
  /// Prepares the rules of `set` that need `most` or less; the others are not evaluated. Throws as
  /// PatternGroup::compile() does.
  explicit CompiledRules(RuleSet set, Needs most = Needs::packet, MatcherKind matcher = MatcherKind::patterns);
  CompiledRules(const CompiledRules&) = delete;
  CompiledRules& operator=(const CompiledRules&) = delete;

  const RuleSet& set() const { return set_; }
  const std::vector<ActiveRule>& rules() const { return rules_; }
  /// Returns rules that are not evaluated, with the reason.
  struct NotEvaluated {
    const Rule* rule;
    std::string reason;
  };
  const std::vector<NotEvaluated>& not_evaluated() const { return not_evaluated_; }

  /// Returns the patterns that are sought in a buffer for rules with these needs, or null.
  const PatternGroup* group(Needs needs, Buffer buffer) const;
  const std::map<std::pair<Needs, Buffer>, PatternGroup>& groups() const { return groups_; }
  /// Returns the patterns that are sought in the payload of packets.
  const PatternGroup& packet_group() const { return groups_.at({Needs::packet, Buffer::payload}); }
  /// Returns the rules that have no pattern and may match packets of the transport protocol, in order.
  const std::vector<std::uint32_t>& always(Needs needs, std::uint8_t protocol) const;

  /// Gives the flowbits the numbers of `names`, which gets new names. A reload calls it before workers use the rules,
  /// so that the bits of open flows keep their meaning. Throws std::length_error if there are too many names.
  void number_bits(BitNames& names);

 private:
  static constexpr std::size_t kNeeds = 3, kProtocols = 256;

  void add(const Rule& rule);
  void choose_by(const ActiveRule& active, std::uint32_t number, Needs needs);
  const Threshold* threshold_of(const Rule& rule) const;

  RuleSet set_;
  Needs most_;
  std::vector<ActiveRule> rules_;
  std::vector<NotEvaluated> not_evaluated_;
  std::map<std::pair<Needs, Buffer>, PatternGroup> groups_;
  std::array<std::vector<std::vector<std::uint32_t>>, kNeeds> always_;  ///< By needs and class of protocols.
  std::array<std::uint8_t, kProtocols> class_of_{};
};

}  // namespace penumbra::ids
