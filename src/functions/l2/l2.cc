// SPDX-License-Identifier: Apache-2.0
#include "functions/l2/l2.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/row_limit.h"
#include "base/steady_time.h"
#include "packet/mbuf_metadata.h"
#include "penumbra/errors.h"
#include "tables/l2/stations_ahead.h"

namespace penumbra::l2 {
namespace {

constexpr std::size_t kMostKeys = 2 * std::size_t{Chunk::kCapacity};  ///< destination and source of each packet

/// Adds, changes or removes the tag as the egress port requires. Returns false if there is no headroom for a tag.
bool set_form(rte_mbuf& packet, bool is_tagged, bool leaves_tagged, std::uint16_t tag) {
  if (leaves_tagged) return set_tag(packet, is_tagged, tag);
  if (is_tagged) pop_tag(packet);
  return true;
}

/// Returns the first port that differs from `but`.
std::uint16_t first_but(std::span<const std::uint16_t> ports, std::uint16_t but) {
  return ports[0] != but ? ports[0] : ports[1];
}

/// Returns the outcome before any look-up. Sets `vlan` if the frame is to be forwarded.
Outcome classify(const SwitchPort& port, const FrameHeader& header, std::uint16_t& vlan) {
  if ((header.source & kGroupBit) != 0 || header.source == 0) return Outcome::bad_source;
  if ((header.destination & kReservedMask) == kReserved) [[unlikely]]
    return Outcome::reserved_group;
  vlan = header.tag & kVlanMask;
  if (vlan == 0) {  // no tag, or a priority tag (IEEE 802.1Q, 6.9)
    vlan = port.native;
    if (vlan == 0) return Outcome::untagged;
  } else if (vlan > kMostVlan || !port.vlans.test(vlan)) {
    return Outcome::vlan_not_allowed;
  }
  return header.destination == port.mac ? Outcome::local : Outcome::forward;
}

}  // namespace

Switch::Switch(Configuration configuration, const FunctionContext& context, std::vector<std::string> warnings)
    : warnings_(std::move(warnings)),
      grace_periods_(context.grace_periods),
      ports_(context.ports.begin(), context.ports.end()),
      configuration_(std::move(configuration)),
      stations_manager_(context.grace_periods, context.workers),
      owned_vlans_(std::make_unique<const VlanTable>(configuration_, ports_)),
      vlans_(owned_vlans_.get()) {
  leave_to_others(context.later_ethertypes);
  stations_manager_.configure(configuration_);
  saved_ = configuration_.static_stations;
}

Switch::~Switch() = default;

const std::vector<Reason>& Switch::reasons() const {
  constexpr auto kDrop = Verdict::Kind::drop;
  constexpr auto kPunt = Verdict::Kind::punt;
  static const std::vector<Reason> kReasons{
      {"runt", kDrop, "frame shorter than its Ethernet header or tag"},
      {"bad_source", kDrop, "source that no station has: a group address, or 0"},
      {"reserved_group", kPunt, "to 01:80:c2:00:00:00 to 0f, which no bridge forwards (STP, LACP, LLDP, pause)"},
      {"untagged", kDrop, "untagged frame on a trunk without a native VLAN"},
      {"vlan_not_allowed", kDrop, "tagged with a VLAN that the port is no member of"},
      {"local", kPunt, "to the port's own MAC address"},
      {"static_moved", kDrop, "source that is static on another port"},
      {"broadcast_storm", kDrop, "broadcast over the port's limit"},
      {"multicast_storm", kDrop, "multicast over the port's limit"},
      {"unknown_unicast_storm", kDrop, "to unknown stations over the port's limit"},
      {"same_port", kDrop, "the destination is where the frame came from"},
      {"no_egress", kDrop, "the VLAN has no other port"},
      {"too_long", kDrop, "longer than the egress port's MTU; one for each port that it is not flooded to"},
      {"no_buffer", kDrop, "no memory for a copy, or no room for a tag"},
  };
  return kReasons;
}

void Switch::bind(std::span<const PortInfo> ports) {
  rebind(ports);
  stations_manager_.start();
}

void Switch::rebind(std::span<const PortInfo> ports) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (ports[i].removed && !ports_[i].removed) stations_manager_.flush(static_cast<std::uint16_t>(i));
  }
  ports_.assign(ports.begin(), ports.end());
  PortConfiguration usual;
  usual.vlans.set(usual.native);
  configuration_.ports.resize(ports_.size(), usual);
  owned_vlans_ = std::make_unique<const VlanTable>(configuration_, ports_);
  vlans_.store(owned_vlans_.get(), std::memory_order_release);
}

void Switch::pre_shade(Chunk& chunk) noexcept {
  const SwitchPort& port = vlans_.load(std::memory_order_acquire)->port(chunk.rx_port);
  auto* const keys =
      chunk.columns.take<std::uint64_t>(kMostKeys);  // destination and source of each packet, alternating
  const StationsAhead ahead(stations_manager_.table());
  std::size_t count = 0;
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
    const rte_mbuf* const packet = chunk.packets[i];
    const auto* const frame = rte_pktmbuf_mtod(packet, const std::uint8_t*);
    FrameHeader header;
    std::uint16_t vlan = 0;
    const Outcome outcome = read_header(frame, packet->data_len, header) ? classify(port, header, vlan) : Outcome::runt;
    if (outcome != Outcome::forward) [[unlikely]] {
      if (outcome != Outcome::local || !is_left_to_others(load_be16(frame + kEthertypeAt)))
        chunk.verdicts[i] = drop_or_punt(outcome);
      continue;
    }
    keys[2 * count] = std::uint64_t{vlan} << 48 | header.destination;
    keys[2 * count + 1] = std::uint64_t{vlan} << 48 | header.source;
    if (chunk.fetch_ahead) {
      ahead.fetch(keys[2 * count]);
      ahead.fetch(keys[2 * count + 1]);
    }
    chunk.packet_of_item[count++] = static_cast<std::uint8_t>(i);
  }
  chunk.batch.items = static_cast<std::uint32_t>(2 * count);
  chunk.batch.inputs[0] = keys;
  chunk.batch.outputs[0] = chunk.columns.take<std::uint16_t>(kMostKeys);
}

void Switch::post_shade(Chunk& chunk) noexcept {
  const VlanTable& vlans = *vlans_.load(std::memory_order_acquire);
  const auto* const keys = static_cast<const std::uint64_t*>(chunk.batch.inputs[0]);
  const auto* const values = static_cast<const std::uint16_t*>(chunk.batch.outputs[0]);
  const unsigned stamp = stations_manager_.stamp();
  std::uint64_t last_told = 0;
  for (std::uint32_t item = 0; item < chunk.batch.items; item += 2) {
    const std::uint8_t i = chunk.packet_of_item[item / 2];
    const std::uint64_t source = keys[item + 1];
    const Entry from(values[item + 1]);
    if (from.is_static() ? from.port() != chunk.rx_port : from.value() != Entry(chunk.rx_port, stamp).value())
        [[unlikely]] {
      if (from.is_static()) {
        chunk.verdicts[i] = drop_or_punt(Outcome::static_moved);
        continue;
      }
      // Reports a new station only once for consecutive packets, because a chunk often has many packets of one station.
      if (source != last_told && !chunk.is_dry_run)
        stations_manager_.tell(chunk.worker, source, chunk.rx_port, !from.is_known());
      last_told = source;
    }
    rte_mbuf* const packet = chunk.packets[i];
    FrameHeader header;
    read_header(rte_pktmbuf_mtod(packet, const std::uint8_t*), packet->data_len, header);
    const auto vlan = static_cast<std::uint16_t>(source >> 48);
    const Arrival arrival{.packet = packet,
                          .rx_port = chunk.rx_port,
                          .vlan = vlan,
                          .is_tagged = header.is_tagged,
                          .tag = static_cast<std::uint16_t>((header.tag & kPriorityMask) | vlan),
                          .payload_bytes = packet->pkt_len - static_cast<std::uint32_t>(header.bytes)};
    const Outcome outcome = judge(vlans, arrival, header.destination, Entry(values[item]), chunk, i);
    if (outcome != Outcome::forward) chunk.verdicts[i] = drop_or_punt(outcome);
  }
}

/// Sets the verdict and the tag of the packet if it is forwarded.
Outcome Switch::judge(const VlanTable& vlans, const Arrival& arrival, std::uint64_t destination, Entry to, Chunk& chunk,
                      std::uint16_t packet) const noexcept {
  Storm storm = Storm::unknown_unicast;
  if ((destination & kGroupBit) != 0) {
    storm = destination == kBroadcast ? Storm::broadcast : Storm::multicast;
  } else if (to.is_known() && vlans.port(to.port()).vlans.test(arrival.vlan)) {
    const Outcome outcome = forward(vlans, arrival, to.port());
    if (outcome == Outcome::forward) chunk.verdicts[packet] = Verdict::send(to.port());
    return outcome;
  }
  const SwitchPort& port = vlans.port(arrival.rx_port);
  if (port.has_limits && !chunk.is_dry_run && !vlans.within_limit(arrival.rx_port, storm, steady_ns())) {
    return static_cast<Outcome>(static_cast<std::uint16_t>(Outcome::broadcast_storm) +
                                static_cast<std::uint16_t>(storm));
  }
  return flood(vlans, arrival, chunk, packet);
}

Outcome Switch::forward(const VlanTable& vlans, const Arrival& arrival, std::uint16_t egress) const noexcept {
  if (egress == arrival.rx_port) return Outcome::same_port;
  const SwitchPort& port = vlans.port(egress);
  if (arrival.payload_bytes > port.mtu) return Outcome::too_long;
  const bool leaves_tagged = port.native != arrival.vlan;
  return set_form(*arrival.packet, arrival.is_tagged, leaves_tagged, arrival.tag) ? Outcome::forward
                                                                                  : Outcome::no_buffer;
}

Outcome Switch::flood(const VlanTable& vlans, const Arrival& arrival, Chunk& chunk,
                      std::uint16_t packet) const noexcept {
  const Vlan& vlan = vlans.vlan(arrival.vlan);
  const auto to_untagged = vlans.output_ports(vlan.untagged, arrival.payload_bytes);
  const auto to_tagged = vlans.output_ports(vlan.tagged, arrival.payload_bytes);
  // One of the lists contains the ingress port, unless a reload has just removed the port from the VLAN.
  const auto others = [&](std::span<const std::uint16_t> ports) {
    return ports.size() - static_cast<std::size_t>(std::ranges::count(ports, arrival.rx_port));
  };
  const std::size_t untagged = others(to_untagged), tagged = others(to_tagged);
  const std::size_t left_out = others(std::span(vlan.untagged).subspan(to_untagged.size())) +
                               others(std::span(vlan.tagged).subspan(to_tagged.size()));
  if (untagged + tagged == 0) return left_out == 0 ? Outcome::no_egress : Outcome::too_long;
  Replication& replication = chunk.replications[packet];
  replication = {.ports = untagged > 0 ? to_untagged : to_tagged,
                 .dropped = static_cast<std::uint16_t>(left_out),
                 .reason = drop_or_punt(Outcome::too_long).value};
  if (untagged > 0 && tagged > 0) {
    replication.other = copy_packet(*arrival.packet, *arrival.packet->pool);
    if (replication.other == nullptr) return Outcome::no_buffer;
    replication.other_ports = to_tagged;
    if (!set_tag(*replication.other, arrival.is_tagged, arrival.tag)) {
      rte_pktmbuf_free(replication.other);
      return Outcome::no_buffer;
    }
  }
  if (!set_form(*arrival.packet, arrival.is_tagged, untagged == 0, arrival.tag)) return Outcome::no_buffer;
  chunk.verdicts[packet] = untagged + tagged + left_out == 1
                               ? Verdict::send(first_but(replication.ports, arrival.rx_port))
                               : Verdict::replicate();
  return Outcome::forward;
}

std::vector<std::string> Switch::differences(const Function& next, const ConfigNode& /*config*/) const {
  return l2::differences(configuration_, dynamic_cast<const Switch&>(next).configuration_, ports_);
}

std::unique_ptr<Change> Switch::prepare(std::string_view /*command*/, std::string_view action,
                                        const CommandEntries& entries) {
  EditedStations after = edit(configuration_, action, entries, ports_);
  return make_replacement(configuration_.static_stations, std::move(after.stations), after.counts,
                          [this](const StaticStations& stations) { put_static(stations); });
}

void Switch::put_static(const StaticStations& stations) {
  Configuration next = configuration_;
  next.static_stations = stations;
  stations_manager_.reconfigure(configuration_, next);
  const std::lock_guard lock(mutex_);
  configuration_ = std::move(next);
}

std::vector<ConfigTable> Switch::tables() const {
  const auto lines = [this] {
    std::string text;
    for (const auto& [station, port] : configuration_.static_stations) text += text_of(station, port, ports_) + "\n";
    return text;
  };
  const auto unsaved = [this](std::size_t most) {
    std::vector<std::string> differing;
    const auto tell = [&](const char* sign, const StaticStations& list, const StaticStations& others) {
      for (const auto& [station, port] : list) {
        const auto other = others.find(station);
        if (differing.size() == most || (other != others.end() && other->second == port)) continue;
        differing.push_back(sign + text_of(station, port, ports_));
      }
    };
    tell("- ", saved_, configuration_.static_stations);
    tell("+ ", configuration_.static_stations, saved_);
    return differing;
  };
  return {{.key = "static", .lines = lines, .unsaved = unsaved}};
}

void Switch::exchange(Function& next) {
  Configuration& other = dynamic_cast<Switch&>(next).configuration_;
  other.ports.resize(std::max(other.ports.size(), configuration_.ports.size()));
  auto vlans = std::make_unique<const VlanTable>(other, ports_);
  stations_manager_.reconfigure(configuration_, other);
  vlans_.store(vlans.get(), std::memory_order_release);
  grace_periods_.elapsed(grace_periods_.start(), true);
  const std::lock_guard lock(mutex_);
  owned_vlans_ = std::move(vlans);
  std::swap(configuration_, other);
  std::swap(saved_, dynamic_cast<Switch&>(next).saved_);
}

std::string Switch::trace(const Chunk& chunk, std::uint16_t packet) const {
  const rte_mbuf* const mbuf = chunk.packets[packet];
  FrameHeader header;
  if (!read_header(rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->data_len, header)) {
    return fmt::format("no Ethernet header, {} bytes", mbuf->pkt_len);
  }
  std::string line =
      fmt::format("{} > {}", to_string(MacAddress{header.source}), to_string(MacAddress{header.destination}));
  if (const std::optional<std::size_t> pair = item_of(chunk, packet, 2)) {
    const std::size_t item = 2 * *pair;
    const auto* const values = static_cast<const std::uint16_t*>(chunk.batch.outputs[0]);
    const auto name = [&](Entry entry) {
      return entry.is_known() ? ports_[entry.port()].name : std::string("unknown");
    };
    line += fmt::format(" VLAN {}, source {}, destination {}",
                        static_cast<const std::uint64_t*>(chunk.batch.inputs[0])[item] >> 48,
                        name(Entry(values[item + 1])), name(Entry(values[item])));
  }
  const Verdict reached = chunk.verdicts[packet];
  for (std::size_t i = 0; i < reasons().size(); ++i) {
    if (drop_or_punt(i) == reached) line += ": " + reasons()[i].name;
  }
  return line;
}

nlohmann::ordered_json Switch::explain(const Chunk& chunk, std::uint16_t packet) const {
  const auto* const keys = static_cast<const std::uint64_t*>(chunk.batch.inputs[0]);
  const auto* const values = static_cast<const std::uint16_t*>(chunk.batch.outputs[0]);
  auto explained = nlohmann::ordered_json::object();
  const auto in_words = [this](std::uint64_t key, Entry entry) {
    const std::string mac = to_string(MacAddress{key & ((std::uint64_t{1} << 48) - 1)});
    if ((key & kGroupBit) != 0) return mac + " is a group";
    if (!entry.is_known()) return mac + " is unknown";
    return fmt::format("{} is {} on {}", mac, entry.is_static() ? "static" : "learned", ports_[entry.port()].name);
  };
  if (const std::optional<std::size_t> pair = item_of(chunk, packet, 2)) {
    const std::size_t item = 2 * *pair;
    explained["vlan"] = keys[item] >> 48;
    explained["source_station"] = in_words(keys[item + 1], Entry(values[item + 1]));
    explained["destination_station"] = in_words(keys[item], Entry(values[item]));
  }
  return explained;
}

nlohmann::ordered_json Switch::show(std::string_view topic, std::span<const std::string> arguments) const {
  if (topic == "stations") return show_stations(arguments);
  if (!arguments.empty()) throw std::invalid_argument(fmt::format("show {} takes no arguments", topic));
  return topic == "vlans" ? show_vlans() : show_learning();
}

/// Returns the filter for a word of the request.
Switch::StationFilter Switch::station_filter(const std::string& word) const {
  if (const auto mac = parse_mac_address(word)) {
    return [mac = *mac](Station station, Entry) { return station.mac == mac; };
  }
  if (const auto port = std::ranges::find(ports_, word, &PortInfo::name); port != ports_.end()) {
    return [index = port->index](Station, Entry entry) { return entry.port() == index; };
  }
  std::uint16_t vlan = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), vlan);
  if (failure == std::errc{} && end == word.data() + word.size()) {
    return [vlan](Station station, Entry) { return station.vlan == vlan; };
  }
  throw std::invalid_argument(fmt::format("{} is no MAC address, port or VLAN", quote(word)));
}

nlohmann::ordered_json Switch::show_stations(std::span<const std::string> arguments) const {
  const RowLimit limit(arguments);
  std::vector<StationFilter> filters;
  for (const std::string& word : limit.rest()) filters.push_back(station_filter(word));
  std::map<Station, Entry> first;  // at most as many stations as are shown
  std::size_t found = 0;
  stations_manager_.for_each([&](Station station, Entry entry) {
    if (!std::ranges::all_of(filters, [&](const auto& filter) { return filter(station, entry); })) return;
    ++found;
    if (first.size() == limit.most() && (first.empty() || std::prev(first.end())->first < station)) return;
    first.emplace(station, entry);
    if (first.size() > limit.most()) first.erase(std::prev(first.end()));
  });
  auto rows = nlohmann::ordered_json::array();
  for (const auto& [station, entry] : first) {
    nlohmann::ordered_json row{{"vlan", station.vlan},
                               {"mac", to_string(station.mac)},
                               {"port", ports_[entry.port()].name},
                               {"type", entry.is_static() ? "static" : "learned"},
                               {"age", nullptr}};
    if (!entry.is_static()) row["age"] = stations_manager_.silence(entry).count();
    rows.push_back(std::move(row));
  }
  return RowLimit::answer("stations", std::move(rows), first.size(), found);
}

nlohmann::ordered_json Switch::show_vlans() const {
  std::vector<std::size_t> stations(kMostVlan + 1);
  stations_manager_.for_each([&](Station station, Entry) { ++stations[station.vlan]; });
  const std::lock_guard lock(mutex_);
  auto table = nlohmann::ordered_json::array();
  for (std::uint16_t number = 1; number <= kMostVlan; ++number) {
    const Vlan& vlan = owned_vlans_->vlan(number);
    if (vlan.untagged.empty() && vlan.tagged.empty()) continue;
    const auto names = [&](std::vector<std::uint16_t> ports) {
      std::ranges::sort(ports);
      auto list = nlohmann::ordered_json::array();
      for (const std::uint16_t port : ports) list.push_back(ports_[port].name);
      return list;
    };
    table.push_back({{"vlan", number},
                     {"untagged", names(vlan.untagged)},
                     {"tagged", names(vlan.tagged)},
                     {"stations", stations[number]}});
  }
  return table;
}

nlohmann::ordered_json Switch::show_learning() const {
  const LearningCounts counts = stations_manager_.counts();
  const std::lock_guard lock(mutex_);
  return {{"stations", stations_manager_.size()},
          {"max_stations", configuration_.max_stations},
          {"static", configuration_.static_stations.size()},
          {"ageing", configuration_.ageing},
          {"memory_bytes", stations_manager_.memory_bytes()},
          {"learned", counts.learned},
          {"moved", counts.moved},
          {"aged", counts.aged},
          {"removed", counts.removed},
          {"flushed", counts.flushed},
          {"not_learned", counts.not_learned},
          {"untold", counts.untold}};
}

std::vector<FunctionMetric> Switch::metrics() const {
  const LearningCounts counts = stations_manager_.counts();
  std::vector<FunctionMetric> metrics{
      {"l2_stations", "Stations known, static ones too", FunctionMetric::Kind::gauge, stations_manager_.size()},
      {.name = "l2_learned", .help = "Stations that came", .value = counts.learned},
      {.name = "l2_moved", .help = "Moves of stations to another port", .value = counts.moved},
      {.name = "l2_not_learned_frames",
       .help = "Frames of stations that there was no room for (max_stations)",
       .value = counts.not_learned},
      {.name = "l2_untold_frames",
       .help = "Frames of stations that more could not be told of at a time",
       .value = counts.untold}};
  const auto forgotten = [&metrics](const char* reason, std::uint64_t value) {
    metrics.push_back({.name = "l2_forgotten",
                       .help = "Stations that went, by reason",
                       .value = value,
                       .labels = {{"reason", reason}}});
  };
  forgotten("aged", counts.aged);
  forgotten("removed", counts.removed);
  forgotten("flushed", counts.flushed);
  return metrics;
}

namespace {

std::unique_ptr<Function> create(const ConfigNode& config, const FunctionContext& context) {
  Configuration configuration = read_configuration(config, context.ports);
  std::vector<std::string> warnings = warnings_of(configuration, config, context.ports);
  try {
    return std::make_unique<Switch>(std::move(configuration), context, std::move(warnings));
  } catch (const std::length_error& error) {
    throw config.error(error.what());
  }
}

[[maybe_unused]] const bool kRegistered =
    register_function({.name = "l2",
                       .summary = "switches Ethernet frames between ports, with VLANs (IEEE 802.1Q)",
                       .topics = {{"stations", "[all] [MAC|PORT|VLAN]...: who is where", {RowLimit::flag()}},
                                  {"vlans", "the VLANs and their ports"},
                                  {"learning", "how many stations there are, came, moved and went"}},
                       .create = create,
                       .commands = commands(),
                       .passes_on = PassesOn::ethertypes_of_others});

}  // namespace
}  // namespace penumbra::l2
