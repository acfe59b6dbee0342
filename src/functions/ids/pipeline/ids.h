// SPDX-License-Identifier: Apache-2.0
//
// The control half of `ids`, which evaluates rules of Suricata on packets. See docs/functions/ids.md.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "functions/ids/detect/compiled_rules.h"
#include "functions/ids/detect/detector.h"
#include "functions/ids/pipeline/eve_writer.h"
#include "functions/ids/pipeline/settings.h"
#include "functions/ids/streams/stream_event.h"
#include "penumbra/function.h"
#include "penumbra/per_worker.h"
#include "tables/patterns/patterns.h"

namespace penumbra::ids {

/// The rules of one configuration, with what belongs to them.
struct Generation {
  Generation(std::shared_ptr<CompiledRules> compiled, const Policies& chosen, std::size_t workers);

  std::shared_ptr<CompiledRules> rules;
  Policies policies;
  std::vector<std::vector<RuleCounts>> counts;  ///< By worker and rule.
  /// By worker, and one for dry runs; empty without Hyperscan.
  std::vector<std::unique_ptr<HyperscanScratch>> scratches;
};

enum Reason : std::uint16_t {
  kDroppedByRule,
  kRejectedByRule,
  kDroppedFlow,
  kNoFlow,
  kLimits,
  kUnreadable,
  kNoMemory,
  kMidstream,
  kMalformedMessage,
  kInvalidSegment,
  kNotWritable,
};

enum Count : std::uint8_t {
  kPackets,  ///< Packets of IP.
  kBytes,
  kIpv4,
  kIpv6,
  kTcp,
  kUdp,
  kIcmpv4,
  kIcmpv6,
  kDropped,
  kInspected,
  kBypassed,      ///< Packets of flows that are passed.
  kNotInspected,  ///< IP packets for which an exception policy decided.
  kAlerts,
  kAlertsOverLimit,
  kSearchedAgain,  ///< Payloads that the shader's answer was not enough for.
  kStepsExceeded,
  kPcreExceeded,
  kPacketsExceeded,
  kNoFlows,
  kUnreadables,
  kLimitsExceeded,
  kMemoryExceeded,
  kMidstreams,
  kMalformedMessages,
  kInvalidSegments,
  kRewritten,  ///< Packets that repeated bytes of a stream with other values.
  kRejections,
  kRejectionsLost,
  kFlowsOpen,
  kFlowsOpened,
  kFlowsEvicted,
  kThresholdsEvicted,
  kBitsEvicted,
  kSessions,
  kStreamMemory,  ///< Bytes in use.
  kStreamBytes,   ///< Bytes of streams that were inspected.
  kStreamLost,    ///< Bytes in gaps.
  kFirstStreamEvent,
  kFirstApplication = kFirstStreamEvent + kStreamEvents,
  kCounts = kFirstApplication + kApplications,
};
using WorkerCounts = std::array<Counter, kCounts>;

class Ids final : public Function {
 public:
  Ids(Settings settings, RuleSet rules, const FunctionContext& context);
  ~Ids() override;

  const std::vector<penumbra::Reason>& reasons() const override;
  std::vector<FunctionShader> shaders() override { return {{"patterns", &table_.table()}}; }
  std::vector<std::string> warnings() const override;
  void bind(std::span<const PortInfo> ports) override;
  void rebind(std::span<const PortInfo> /*ports*/) override {}
  std::unique_ptr<FunctionWorker> open_worker(const WorkerContext& context) override;
  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override;
  void exchange(Function& next) override;
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override;
  std::vector<FunctionMetric> metrics() const override;

  /// Returns the current rules. They stay valid while a packet is in flight. A worker changes its own counts only.
  Generation& generation() const { return *current_.load(std::memory_order_acquire); }
  /// Returns the writer of events, or null.
  EveWriter* writer() { return writer_.get(); }
  WorkerCounts& counts_of(std::size_t worker) { return counts_.of(worker); }
  std::size_t flows_of_a_worker() const { return settings_.flows / workers_; }
  /// Returns the settings of streams, with the memory of one worker.
  StreamSettings streams_of_a_worker() const;
  const SipHashKey& key() const { return key_; }

 private:
  nlohmann::ordered_json show_summary() const;
  nlohmann::ordered_json show_rules() const;
  nlohmann::ordered_json show_flows() const;
  nlohmann::ordered_json show_matcher() const;
  nlohmann::ordered_json show_profile(std::span<const std::string> arguments) const;
  std::uint64_t sum(std::size_t count) const;
  std::string statistics() const;
  void publish(std::shared_ptr<Generation> next);

  Settings settings_;
  const std::uint16_t workers_;
  const SipHashKey key_;
  GracePeriods& grace_periods_;
  BitNames names_;
  PatternTable table_;
  std::shared_ptr<Generation> owned_;
  std::atomic<Generation*> current_{nullptr};
  PerWorker<WorkerCounts> counts_;
  std::atomic<std::size_t> rules_loaded_{0}, rules_failed_{0};  ///< The current rules, for events.
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  /// Former rules, with the number of events that may refer to them.
  std::vector<std::pair<std::shared_ptr<Generation>, std::uint64_t>> former_;
  std::unique_ptr<EveWriter> writer_;  ///< The last member: its thread reads the rules.
};

}  // namespace penumbra::ids
