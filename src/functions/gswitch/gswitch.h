// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "functions/gswitch/packet_key.h"
#include "functions/gswitch/settings.h"
#include "functions/rule_list/list.h"
#include "penumbra/lookup_function.h"
#include "penumbra/per_worker.h"

namespace penumbra::gswitch {

/// Implements an OpenFlow switch: a table of flows with their actions. KeyedSwitch looks packets up.
class GSwitch : public LookupFunction {
 public:
  GSwitch(Settings settings, const FunctionContext& context);

  const std::vector<Reason>& reasons() const override;
  std::vector<std::string> warnings() const override { return warnings_; }
  std::string shader() const override { return list_.shader(); }
  Table* table() override { return &list_.table(); }
  void bind(std::span<const PortInfo> ports) override;
  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override;
  void exchange(Function& next) override;
  std::unique_ptr<Change> prepare(std::string_view command, std::string_view action,
                                  const CommandEntries& entries) override;
  std::vector<ConfigTable> tables() const override;
  void tables_are_saved() override { saved_ = own_flows(); }
  std::string trace(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override;
  std::vector<FunctionMetric> metrics() const override;

 protected:
  /// Counters of packets.
  enum Counted : std::uint8_t { kFoundInCache, kFoundInTable, kCounted };
  /// Lists the reasons, by index.
  enum Outcome : std::uint16_t {
    kMiss,
    kMissPunted,
    kDroppedByFlow,
    kController,
    kLocal,
    kSamePort,
    kTooLong,
    kNoBuffer,
    kRunt,
    kDone  ///< no reason applies
  };

  static bool is_changing(std::uint32_t state) { return state % 2 != 0; }
  /// Returns the number of the flow that decides on a packet, if one was looked for.
  virtual std::optional<std::uint32_t> number_of(const Chunk& chunk, std::uint16_t packet) const = 0;
  const CompiledActions& actions_of(std::uint32_t number) const noexcept { return *plan_of_[number]; }
  /// Carries out the actions on a packet and returns the outcome.
  std::uint16_t carry_out(const CompiledActions& actions, PacketLayers layers, Chunk& chunk,
                          std::uint8_t packet) const noexcept;

  rule_list::List<FlowEntry> list_;
  const std::size_t cache_entries_;
  /// The state of the table for the caches. Odd while the table changes.
  std::atomic<std::uint32_t> state_{0};
  Counters<kCounted> counters_;

 private:
  std::uint16_t output(const CompiledActions& actions, PacketLayers layers, Chunk& chunk,
                       std::uint8_t packet) const noexcept;
  void put_in_force(std::vector<FlowEntry> entries);
  /// Returns the flows without the entry for a miss, which is the last one.
  std::vector<FlowEntry> own_flows() const { return {list_.entries().begin(), list_.entries().end() - 1}; }

  const rule_list::Structure structure_;
  const Fields fields_;
  GracePeriods& grace_periods_;
  std::vector<PortInfo> ports_;
  std::unordered_map<std::string, std::unique_ptr<CompiledActions>> plans_;  ///< by text
  std::vector<FlowEntry> saved_;                                             ///< as in the saved configuration
  const std::vector<std::string> warnings_;
  HugeArray<const CompiledActions*> plan_of_{kMostRules + 1};  ///< by entry number
  std::atomic<std::size_t> flows_{0};
  /// The entries of the running function, while the running function has those of this one.
  std::optional<std::vector<FlowEntry>> exchanged_;
};

/// Returns a switch for the fields of `settings`.
std::unique_ptr<Function> make_gswitch(Settings settings, const FunctionContext& context);

}  // namespace penumbra::gswitch
