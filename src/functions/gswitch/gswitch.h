// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "functions/gswitch/settings.h"
#include "functions/rule_list/hits.h"
#include "functions/rule_list/list.h"
#include "penumbra/function.h"
#include "shaders/rules/rule_choice.h"

namespace penumbra::gswitch {

/// A table of flows and what they do.
class GSwitch final : public Function {
 public:
  /// `costs` says which structure is fastest, if the settings leave that open.
  GSwitch(Settings settings, std::vector<RuleStructureCost> costs, const FunctionContext& context);

  const std::vector<Reason>& reasons() const override;
  std::string shader() const override { return list_.shader(); }
  Table* table() override { return &list_.table(); }
  void bind(std::span<const PortInfo> ports) override;
  void pre_shade(Chunk& chunk) noexcept override;
  void post_shade(Chunk& chunk) noexcept override;
  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override;
  void exchange(Function& next) override;
  std::string trace(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override;
  std::vector<FunctionMetric> metrics() const override;

 private:
  /// What of a flow workers need to know, by its number.
  struct Decision {
    const Plan* plan;
    std::uint32_t line;  ///< 0: of the miss
  };

  std::uint16_t carry_out(const Plan& plan, Chunk& chunk, std::uint8_t packet) const noexcept;
  std::uint16_t output(const Plan& plan, Chunk& chunk, std::uint8_t packet) const noexcept;
  void put_in_force(std::vector<FlowEntry> entries);
  nlohmann::ordered_json show_flows(std::span<const std::string> arguments) const;
  nlohmann::ordered_json show_structure() const;

  const std::string structure_;
  const bool is_chosen_;
  const std::vector<RuleStructureCost> costs_;  ///< none if nothing was chosen
  GracePeriods& grace_periods_;
  std::vector<PortInfo> ports_;
  std::unordered_map<std::string, std::unique_ptr<Plan>> plans_;  ///< by their texts
  rule_list::List<FlowEntry> list_;
  HugeArray<Decision> decisions_{kMostRules + 1};  ///< by number
  mutable rule_list::HitCounters hits_;
  std::atomic<std::size_t> flows_{0};
};

}  // namespace penumbra::gswitch
