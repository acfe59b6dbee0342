// SPDX-License-Identifier: Apache-2.0
//
// Flow accounting counts each packet in the record of its flow. Later functions decide on the packet. See
// docs/functions/flows.md.
#include <rte_mbuf.h>

#include <array>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/row_limit.h"
#include "base/steady_time.h"
#include "functions/flows/accounts.h"
#include "functions/flows/show.h"
#include "packet/mbuf_metadata.h"
#include "penumbra/errors.h"
#include "penumbra/lookup_function.h"
#include "tables/flows/flow_packet.h"

namespace penumbra::flows {
namespace {

/// Holds the columns of a chunk. The shader's input comes first.
struct Columns {
  std::array<flow_key, Chunk::kCapacity> keys;
  std::array<std::uint32_t, Chunk::kCapacity> records;
  std::array<FlowPacket, Chunk::kCapacity> packets;
};

const Columns& columns_of(const Chunk& chunk) {
  return *static_cast<const Columns*>(chunk.batch.inputs[0]);
}

milliseconds time_now() {
  return milliseconds(steady_ms());
}

class Flows final : public LookupFunction {
 public:
  Flows(const Settings& settings, const FunctionContext& context)
      : settings_(settings), accounts_(settings, context.grace_periods, &time_now, context.workers) {}

  /// Returns no reasons, because the function decides nothing.
  const std::vector<Reason>& reasons() const override {
    static const std::vector<Reason> kReasons;
    return kReasons;
  }
  std::string shader() const override { return "flows_lookup"; }
  Table* table() override { return &accounts_.table(); }
  void bind(std::span<const PortInfo> /*ports*/) override { accounts_.start(); }
  void rebind(std::span<const PortInfo> /*ports*/) override {}

  void pre_shade(Chunk& chunk) noexcept override {
    auto& columns = *chunk.columns.take<Columns>(1);
    const std::uint32_t now = accounts_.now();
    std::uint32_t items = 0;
    for (std::uint16_t i = 0; i < chunk.size; ++i) {
      if (chunk.verdicts[i].kind != Verdict::Kind::pass) [[unlikely]]
        continue;
      rte_mbuf* const packet = chunk.packets[i];
      const PacketHeaders& headers = headers_of(*packet);
      const FlowFrame what = read_frame(headers, rte_pktmbuf_mtod(packet, const std::uint8_t*), columns.keys[items],
                                        columns.packets[items]);
      if (what != FlowFrame::flow) [[unlikely]] {
        if (!chunk.is_dry_run) accounts_.leave_out(what, chunk.worker);
        continue;
      }
      columns.packets[items].time = now;
      chunk.packet_of_item[items++] = static_cast<std::uint8_t>(i);
    }
    chunk.batch.items = items;
    chunk.batch.inputs[0] = &columns;
    chunk.batch.outputs[0] = columns.records.data();
  }

  void post_shade(Chunk& chunk) noexcept override {
    if (chunk.is_dry_run) return;
    const Columns& columns = columns_of(chunk);
    for (std::uint32_t item = 0; item < chunk.batch.items; ++item) {
      if (columns.records[item] != FLOWS_NO_RECORD) {
        if (accounts_.count_found(columns.records[item], columns.packets[item])) {
          accounts_.tell_end(columns.records[item], chunk.worker);
        }
      } else {
        accounts_.tell({.key = columns.keys[item], .packet = columns.packets[item]}, chunk.worker);
      }
    }
  }

  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override {
    const Settings& other = dynamic_cast<const Flows&>(next).settings_;
    if (other.max_flows != settings_.max_flows) {
      const ConfigNode node = config.is_map() ? config.get("max_flows") : config;
      throw(node.present() ? node : config).error("another number of flows takes a restart");
    }
    return flows::differences(settings_, other);
  }
  void exchange(Function& next) override {
    Settings& other = dynamic_cast<Flows&>(next).settings_;
    accounts_.change(other);
    std::swap(settings_, other);
  }

  std::string trace(const Chunk& chunk, std::uint16_t packet) const override {
    const std::optional<std::size_t> item = item_of(chunk, packet);
    if (!item) return "no flow";
    const Columns& columns = columns_of(chunk);
    const std::uint32_t record = columns.records[*item];
    return to_text(columns.keys[*item]) +
           (record == FLOWS_NO_RECORD ? std::string(", not known yet") : ", record " + std::to_string(record));
  }

  nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const override {
    auto explained = nlohmann::ordered_json::object();
    const std::optional<std::size_t> item = item_of(chunk, packet);
    if (!item) return explained;
    const Columns& columns = columns_of(chunk);
    const bool is_open = columns.records[*item] != FLOWS_NO_RECORD;
    explained["flow"] = to_text(columns.keys[*item]);
    explained["record"] = is_open ? "open" : "would be opened";
    return explained;
  }
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override {
    if (topic == "flows") return show_flows(accounts_, arguments);
    if (topic != "exporter") throw std::invalid_argument("there is nothing to show under '" + std::string(topic) + "'");
    if (!arguments.empty()) throw std::invalid_argument("exporter takes no arguments");
    return show_exporter(accounts_);
  }
  std::vector<FunctionMetric> metrics() const override { return flow_metrics(accounts_); }

 private:
  Settings settings_;
  Accounts accounts_;
};

std::unique_ptr<Function> create(const ConfigNode& config, const FunctionContext& context) {
  const Settings settings = read_settings(config);
  try {
    return std::make_unique<Flows>(settings, context);
  } catch (const std::system_error& error) {
    throw config.error(error.what());
  }
}

[[maybe_unused]] const bool kRegistered = register_function(
    {.name = "flows",
     .summary = "accounts for IPv4 and IPv6 flows, and exports them by IPFIX (RFC 7011)",
     .topics = {{"flows",
                 "[all] [src|dst|host ADDRESS|PREFIX] [sport|dport|port|proto|vlan N]...: open flows",
                 {RowLimit::flag()}},
                {"exporter", "how accounting and export go: flows, messages, packets not accounted for"}},
     .create = create});

}  // namespace
}  // namespace penumbra::flows
