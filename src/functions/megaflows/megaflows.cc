// SPDX-License-Identifier: Apache-2.0
//
// Forwards packets by the megaflows of a virtual switch. See docs/functions/megaflows.md.
#include "functions/megaflows/megaflows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/row_limit.h"
#include "base/steady_time.h"
#include "functions/megaflows/commands.h"
#include "functions/megaflows/reasons.h"
#include "functions/megaflows/worker.h"
#include "penumbra/errors.h"

namespace penumbra::megaflows {

using packet_fields::in_port_of;
using packet_fields::match_text;

using nlohmann::ordered_json;

Megaflows::Megaflows(Settings settings, const FunctionContext& context)
    : settings_(std::move(settings)),
      punts_misses_(settings_.punts_misses),
      ports_(context.ports.begin(), context.ports.end()),
      table_(settings_.search, settings_.most, context.ports, context.grace_periods, context.workers),
      counters_(context.workers) {}

const std::vector<Reason>& Megaflows::reasons() const {
  constexpr auto kDropped = Verdict::Kind::drop;
  constexpr auto kPunted = Verdict::Kind::punt;
  static const std::vector<Reason> kReasons{
      {"miss_punted", kPunted, "no megaflow matches it"},
      {"miss", kDropped, "no megaflow matches it, and the configuration drops misses"},
      {"unusual", kPunted, "headers that the virtual switch might read in another way"},
      {"dropped_by_megaflow", kDropped, "its megaflow has no output"},
      {"too_long", kDropped, "longer than the port's MTU, or the port was removed; one for each such output"},
      {"no_buffer", kDropped, "no memory for a copy, or no room for a tag"},
      {"port_down", kDropped, "the twin of the receive port or of each output was taken down"},
      {"metered", kDropped, "above the rate of a meter of its megaflow"},
  };
  return kReasons;
}

void Megaflows::take_ports(std::span<const PortInfo> ports) {
  ports_.assign(ports.begin(), ports.end());
  for (PortInfo& port : ports_) {
    if (port.removed) port.mtu = 0;
  }
  table_.bind(ports_);
}

void Megaflows::bind(std::span<const PortInfo> ports) {
  take_ports(ports);
  server_ = std::make_unique<Server>(settings_.socket, table_, server_counters_);
}

void Megaflows::rebind(std::span<const PortInfo> ports) {
  take_ports(ports);
}

std::unique_ptr<FunctionWorker> Megaflows::open_worker(const WorkerContext& context) {
  return std::make_unique<Worker>(*this, context);
}

std::vector<std::string> Megaflows::differences(const Function& next, const ConfigNode& config) const {
  return megaflows::differences(settings_, dynamic_cast<const Megaflows&>(next).settings_, config);
}

void Megaflows::exchange(Function& next) {
  auto& other = dynamic_cast<Megaflows&>(next);
  std::swap(settings_, other.settings_);
  punts_misses_.store(settings_.punts_misses, std::memory_order_relaxed);
  other.punts_misses_.store(other.settings_.punts_misses, std::memory_order_relaxed);
}

std::unique_ptr<Change> Megaflows::prepare(std::string_view /*command*/, std::string_view action,
                                           const CommandEntries& entries) {
  return prepare_command(action, entries, table_, ports_);
}

ordered_json Megaflows::names_of_down_ports() const {
  const std::vector<std::string> names = table_.port_names();
  const DownPorts down = table_.down();
  auto shown = ordered_json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_down(down, i)) shown.push_back(names[i]);
  }
  return shown;
}

/// Returns the share of packets that the switch did not have to handle, or null before the first packet.
ordered_json Megaflows::offloaded_percent() const {
  const std::uint64_t found = counters_.sum(kFoundInCache) + counters_.sum(kFoundInTable);
  const std::uint64_t all = found + counters_.sum(kMissed) + counters_.sum(kUnusual);
  if (all == 0) return {};
  return std::round(1000 * static_cast<double>(found) / static_cast<double>(all)) / 10;
}

ordered_json Megaflows::show_status() const {
  const auto count = [this](Counted counted) { return counters_.sum(counted); };
  return {{"socket", settings_.socket.string()},
          {"clients", server_counters_.clients.load()},
          {"ports_down", names_of_down_ports()},
          {"megaflows", table_.size()},
          {"meters", table_.meter_count()},
          {"max_megaflows", settings_.most},
          {"subtables", table_.subtables()},
          {"memory_bytes", table_.memory_bytes()},
          {"packets",
           {{"found_in_cache", count(kFoundInCache)},
            {"found_in_table", count(kFoundInTable)},
            {"missed", count(kMissed)},
            {"unusual", count(kUnusual)}}},
          {"offloaded_percent", offloaded_percent()},
          {"requests",
           {{"added", server_counters_.added.load()},
            {"removed", server_counters_.removed.load()},
            {"refused", server_counters_.refused.load()},
            {"clients_dropped", server_counters_.dropped.load()}}}};
}

ordered_json Megaflows::show_meters(std::span<const std::string> arguments) const {
  const RowLimit limit(arguments);
  if (!limit.rest().empty())
    throw std::invalid_argument("megaflows-meters does not take " + quote(limit.rest().front()));
  auto rows = ordered_json::array();
  for (const FlowTable::MeterRow& each : table_.meters(limit.most())) {
    auto bands = ordered_json::array();
    for (std::size_t i = 0; i < each.config.bands.size(); ++i) {
      const MeterBand& band = each.config.bands[i];
      const MeterCounts::Packets& dropped = each.counts.dropped[i];
      bands.push_back({{"rate", band.rate},
                       {"burst", band.burst},
                       {"dropped_packets", dropped.packets},
                       {"dropped_bytes", dropped.bytes}});
    }
    rows.push_back({{"meter", each.config.number},
                    {"unit", each.config.counts_packets ? "packets" : "kilobits"},
                    {"packets", each.counts.in.packets},
                    {"bytes", each.counts.in.bytes},
                    {"bands", std::move(bands)}});
  }
  const std::size_t shown = rows.size();
  return RowLimit::answer("meters", std::move(rows), shown, std::max(shown, table_.meter_count()));
}

ordered_json Megaflows::show_megaflows(std::span<const std::string> arguments) const {
  const RowLimit limit(arguments);
  if (!limit.rest().empty()) throw std::invalid_argument("megaflows does not take " + quote(limit.rest().front()));
  const std::vector<std::string> ports = table_.port_names();
  auto rows = ordered_json::array();
  const std::uint64_t now = steady_ms();
  for (const FlowTable::Row& each : table_.rows(limit.most())) {
    const std::uint16_t in_port = in_port_of(each.flow.match);
    const bool has_port = in_port != 0 && in_port <= ports.size();
    auto& row = rows.emplace_back();
    row["packets"] = each.hits.packets;
    row["port"] = has_port ? ordered_json(ports[in_port - 1U]) : ordered_json();
    row["match"] = match_text(each.flow.match);
    row["actions"] = actions_text(each.flow.actions);
    row["bytes"] = each.hits.bytes;
    row["last_hit_seconds_ago"] =
        each.hits.last_ms == 0 ? ordered_json()
                               : ordered_json(static_cast<double>(now - std::min(now, each.hits.last_ms)) / 1000);
    row["ufid"] = fmt::format("{:016x}{:016x}", each.flow.ufid[0], each.flow.ufid[1]);
  }
  const std::size_t shown = rows.size();
  auto answer = RowLimit::answer("megaflows", std::move(rows), shown, std::max(shown, table_.size()));
  answer["offloaded_percent"] = offloaded_percent();
  return answer;
}

ordered_json Megaflows::show(std::string_view topic, std::span<const std::string> arguments) const {
  if (topic == "megaflows-status") {
    if (!arguments.empty()) throw std::invalid_argument("megaflows-status takes no arguments");
    return show_status();
  }
  if (topic == "megaflows-meters") return show_meters(arguments);
  if (topic == "megaflows") return show_megaflows(arguments);
  throw std::invalid_argument("there is nothing to show under '" + std::string(topic) + "'");
}

std::vector<FunctionMetric> Megaflows::metrics() const {
  constexpr auto kGauge = FunctionMetric::Kind::gauge;
  constexpr auto kCounter = FunctionMetric::Kind::counter;
  const std::string packets = "Packets by the place where their megaflow was found.";
  const auto packets_of = [&](Counted counted, const char* found) {
    return FunctionMetric{.name = "megaflows_packets",
                          .help = packets,
                          .kind = kCounter,
                          .value = counters_.sum(counted),
                          .labels = {{"found", found}}};
  };
  return {{.name = "megaflows_megaflows", .help = "Megaflows of the table.", .kind = kGauge, .value = table_.size()},
          {.name = "megaflows_meters", .help = "Meters of megaflows.", .kind = kGauge, .value = table_.meter_count()},
          {.name = "megaflows_clients",
           .help = "Clients of the socket.",
           .kind = kGauge,
           .value = server_counters_.clients.load()},
          {.name = "megaflows_added",
           .help = "Megaflows that clients added or changed.",
           .kind = kCounter,
           .value = server_counters_.added.load()},
          {.name = "megaflows_removed",
           .help = "Megaflows of clients that were removed.",
           .kind = kCounter,
           .value = server_counters_.removed.load()},
          {.name = "megaflows_refused",
           .help = "Requests of clients that were answered with an error.",
           .kind = kCounter,
           .value = server_counters_.refused.load()},
          packets_of(kFoundInCache, "cache"),
          packets_of(kFoundInTable, "table"),
          packets_of(kMissed, "nowhere"),
          packets_of(kUnusual, "not_looked_for")};
}

namespace {

std::unique_ptr<Function> create(const ConfigNode& config, const FunctionContext& context) {
  Settings settings = read_settings(config);
  try {
    return std::make_unique<Megaflows>(std::move(settings), context);
  } catch (const std::system_error& error) {
    throw config.error(error.what());
  }
}

[[maybe_unused]] const bool kRegistered = register_function(
    {.name = "megaflows",
     .summary = "the fast path of a virtual switch such as Open vSwitch",
     .topics = {{"megaflows", "[all]: the megaflows, and what each has matched", {RowLimit::flag()}},
                {"megaflows-meters", "[all]: the meters of megaflows, and what they dropped", {RowLimit::flag()}},
                {"megaflows-status", "clients, sizes, and where the packets' megaflows were found"}},
     .create = create,
     .commands = commands(),
     .passes_on = PassesOn::nothing});

}  // namespace
}  // namespace penumbra::megaflows
