// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "functions/megaflows/flow_table.h"
#include "functions/megaflows/server.h"
#include "functions/megaflows/settings.h"
#include "functions/rule_list/exact_cache.h"
#include "packet/packet_key.h"
#include "penumbra/function.h"
#include "penumbra/per_worker.h"

namespace penumbra::megaflows {

/// Forwards packets by the megaflows of a virtual switch, and punts other packets to it.
class Megaflows final : public Function {
 public:
  /// Counters of packets.
  enum Counted : std::uint8_t { kFoundInCache, kFoundInTable, kMissed, kUnusual, kCounted };

  Megaflows(Settings settings, const FunctionContext& context);

  const std::vector<Reason>& reasons() const override;
  std::vector<FunctionShader> shaders() override { return {{table_.shader(), &table_.table()}}; }
  void bind(std::span<const PortInfo> ports) override;
  void rebind(std::span<const PortInfo> ports) override;
  std::unique_ptr<FunctionWorker> open_worker(const WorkerContext& context) override;
  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override;
  void exchange(Function& next) override;
  std::unique_ptr<Change> prepare(std::string_view command, std::string_view action,
                                  const CommandEntries& entries) override;
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override;
  std::vector<FunctionMetric> metrics() const override;

 private:
  friend class Worker;

  void take_ports(std::span<const PortInfo> ports);
  nlohmann::ordered_json names_of_down_ports() const;
  nlohmann::ordered_json offloaded_percent() const;
  nlohmann::ordered_json show_status() const;
  nlohmann::ordered_json show_megaflows(std::span<const std::string> arguments) const;
  nlohmann::ordered_json show_meters(std::span<const std::string> arguments) const;

  Settings settings_;
  std::atomic<bool> punts_misses_;
  std::vector<PortInfo> ports_;  ///< a removed port has the MTU 0
  FlowTable table_;
  Counters<kCounted> counters_;
  ServerCounters server_counters_;
  std::unique_ptr<Server> server_;  ///< from bind() on
};

}  // namespace penumbra::megaflows
