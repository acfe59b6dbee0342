// SPDX-License-Identifier: Apache-2.0
//
// Implements a transparent bridge with VLANs (IEEE 802.1Q) that learns stations from the source addresses of frames.
// docs/functions/l2.md specifies the treatment of each frame.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "functions/l2/commands.h"
#include "functions/l2/configuration.h"
#include "functions/l2/frame.h"
#include "functions/l2/station_manager.h"
#include "functions/l2/vlan_table.h"
#include "penumbra/lookup_function.h"

namespace penumbra::l2 {

/// Lists the reasons of the switch, by index.
enum class Outcome : std::uint16_t {
  runt,
  bad_source,
  reserved_group,
  untagged,
  vlan_not_allowed,
  local,
  static_moved,
  broadcast_storm,
  multicast_storm,
  unknown_unicast_storm,
  same_port,
  no_egress,
  too_long,
  no_buffer,
  forward  ///< no reason applies
};

class Switch final : public LookupFunction {
 public:
  Switch(Configuration configuration, const FunctionContext& context, std::vector<std::string> warnings = {});
  ~Switch() override;

  /// Returns the stations. Only benchmarks and tests use this function.
  StationManager& stations() { return stations_manager_; }

  const std::vector<Reason>& reasons() const override;
  std::vector<std::string> warnings() const override { return warnings_; }
  std::string shader() const override { return "l2_lookup"; }
  Table* table() override { return &stations_manager_.table(); }
  void bind(std::span<const PortInfo> ports) override;
  void rebind(std::span<const PortInfo> ports) override;
  void link_down(std::uint16_t port) override { stations_manager_.flush(port); }
  void pre_shade(Chunk& chunk) noexcept override;
  void post_shade(Chunk& chunk) noexcept override;
  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override;
  void exchange(Function& next) override;
  std::unique_ptr<Change> prepare(std::string_view command, std::string_view action,
                                  const CommandEntries& entries) override;
  std::vector<ConfigTable> tables() const override;
  void tables_are_saved() override { saved_ = configuration_.static_stations; }
  std::string trace(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override;
  std::vector<FunctionMetric> metrics() const override;

 private:
  /// Represents a packet after the look-up, with the tag that it has on tagged egress ports.
  struct Arrival {
    rte_mbuf* packet;
    std::uint16_t rx_port;
    std::uint16_t vlan;
    bool is_tagged;  ///< true if the packet has a tag now
    std::uint16_t tag;
    std::uint32_t payload_bytes;
  };
  Outcome judge(const VlanTable& vlans, const Arrival& arrival, std::uint64_t destination, Entry to, Chunk& chunk,
                std::uint16_t packet) const noexcept;
  Outcome forward(const VlanTable& vlans, const Arrival& arrival, std::uint16_t egress) const noexcept;
  Outcome flood(const VlanTable& vlans, const Arrival& arrival, Chunk& chunk, std::uint16_t packet) const noexcept;
  void put_static(const StaticStations& stations);
  using StationFilter = std::function<bool(Station, Entry)>;
  StationFilter station_filter(const std::string& word) const;
  nlohmann::ordered_json show_stations(std::span<const std::string> arguments) const;
  nlohmann::ordered_json show_vlans() const;
  nlohmann::ordered_json show_learning() const;

  const std::vector<std::string> warnings_;
  GracePeriods& grace_periods_;
  std::vector<PortInfo> ports_;
  mutable std::mutex mutex_;  ///< guards the data that a reload changes and a request shows; workers do not take it
  Configuration configuration_;
  StaticStations saved_;  ///< as in the saved configuration
  StationManager stations_manager_;
  std::unique_ptr<const VlanTable> owned_vlans_;
  std::atomic<const VlanTable*> vlans_;
};

}  // namespace penumbra::l2
