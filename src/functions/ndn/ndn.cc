// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/ndn.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

#include "base/random.h"
#include "base/row_limit.h"
#include "base/text_file.h"
#include "control/config_lines.h"
#include "functions/ndn/name_uri.h"
#include "functions/ndn/nonce.h"
#include "functions/ndn/routes.h"
#include "packet/mbuf_metadata.h"
#include "penumbra/errors.h"

namespace penumbra::ndn {
namespace {

using forwarding::kEthernetBytes;
using forwarding::kEthertypeAt;

/// Limits the keys that are tried until no two prefixes have the same digest. A table of the largest size has such a
/// pair with about one key in 60.
constexpr int kMostKeys = 8;

std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Outcome outcome_of(Arrival arrival) {
  switch (arrival) {
    case Arrival::unknown_face:
      return Outcome::unknown_face;
    case Arrival::truncated:
      return Outcome::truncated;
    case Arrival::bad_checksum:
      return Outcome::bad_checksum;
    case Arrival::segmented:
      return Outcome::segmented;
    default:
      return Outcome::not_ndn;
  }
}

Outcome outcome_of(PacketFault fault) {
  switch (fault) {
    case PacketFault::unknown_type:
      return Outcome::unknown_type;
    case PacketFault::unknown_lp_field:
      return Outcome::unknown_lp_field;
    case PacketFault::fragmented:
      return Outcome::fragmented;
    case PacketFault::idle:
      return Outcome::idle;
    default:
      return Outcome::malformed;
  }
}

/// Applies all changes of routes to a table or none of them.
template <class Changes, class From, class To>
void apply(NameTable& table, const Changes& changes, From from, To to) {
  const auto set = [&table](const std::string& name, std::uint16_t next_hop) {
    if (next_hop == NameTable::kNoRoute) {
      table.remove(as_bytes(name));
    } else {
      table.insert(as_bytes(name), next_hop);
    }
  };
  std::size_t done = 0;
  try {
    for (; done < changes.size(); ++done) set(changes[done].name, changes[done].*to);
  } catch (...) {
    while (done-- > 0) set(changes[done].name, changes[done].*from);
    table.commit();
    throw;
  }
  table.commit();
}

NameKey random_key() {
  std::random_device device;
  const auto word = [&device] { return std::uint64_t{device()} << 32 | device(); };
  const std::uint64_t low = word();
  return {low, word()};
}

std::vector<std::string> names_of(const std::vector<Face>& faces) {
  std::vector<std::string> names;
  names.reserve(faces.size());
  for (const Face& face : faces) names.push_back(face.name);
  return names;
}

/// Reads the table from the file of the key `routes`.
std::unique_ptr<NameTable> read_table(const ConfigNode& config, const std::vector<Face>& faces,
                                      GracePeriods& grace_periods, std::vector<std::string>& warnings) {
  const ConfigNode file = config.get("routes");
  if (!file.present()) return std::make_unique<NameTable>(random_key(), grace_periods);
  const std::string text = file.read_file([](const auto& path) { return read_text_file(path); });
  for (int attempt = 1;; ++attempt) {
    auto table = std::make_unique<NameTable>(random_key(), grace_periods);
    try {
      for (const auto& [line, prefix] : parse_name_routes(text, file.path().string(), names_of(faces), *table)) {
        warnings.emplace_back(
            control::error_at(file, line,
                              fmt::format("no packet takes the route to {}: names under /localhost never leave their "
                                          "host; remove the route",
                                          quote(prefix)))
                .what());
      }
      return table;
    } catch (const DigestTaken& error) {
      if (attempt == kMostKeys) throw file.error(error.what());
    }
  }
}

}  // namespace

NdnFunction::NdnFunction(const FunctionContext& context, std::vector<Face> faces, std::unique_ptr<NameTable> table,
                         NameKey token_key, std::vector<std::string> warnings)
    : token_key_(token_key),
      warnings_(std::move(warnings)),
      next_nonce_(std::random_device{}()),
      table_(std::move(table)),
      transport_(std::move(faces)),
      workers_(context.workers),
      counts_(workers_ * transport_.faces().size()) {
  leave_to_others(context.later_ethertypes);
  NdnFunction::bind(context.ports);
}

void NdnFunction::bind(std::span<const PortInfo> ports) {
  ports_.assign(ports.begin(), ports.end());
  stations_.clear();
  for (const PortInfo& port : ports) stations_.emplace_back(port.mac, port.promiscuous);
  transport_.bind(ports);
}

/// Returns the reason to refuse a frame before its name is looked up or its token is opened, or std::nullopt.
std::optional<Outcome> NdnFunction::objection(rte_mbuf& packet, std::uint16_t port, Incoming& incoming) const {
  const Bytes frame(rte_pktmbuf_mtod(&packet, const std::uint8_t*), packet.data_len);
  if (frame.size() < kEthernetBytes) return Outcome::runt;
  if (!stations_[port].accepts(frame.data())) return Outcome::wrong_mac;
  Received received;
  const Arrival arrival = transport_.receive(packet, port, received);
  if (arrival != Arrival::received) return outcome_of(arrival);
  incoming.face = received.face;
  incoming.udp_port = received.udp_port;
  const PacketFault fault = parse_packet(received.packet, received.padded, incoming.packet);
  if (fault != PacketFault::none) return outcome_of(fault);
  return is_localhost(incoming.packet.name) ? std::optional(Outcome::localhost) : std::nullopt;
}

void NdnFunction::pre_shade(Chunk& chunk) noexcept {
  auto* const keys = chunk.columns.take<ndn_names_key>(Chunk::kCapacity);
  auto* const waiting = chunk.columns.take<Incoming>(Chunk::kCapacity);
  std::uint32_t items = 0;
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
    rte_mbuf& packet = *chunk.packets[i];
    Incoming& incoming = waiting[items];
    if (const auto outcome = objection(packet, chunk.rx_port, incoming)) {
      const bool left = *outcome == Outcome::not_ndn &&
                        is_left_to_others(load_be16(rte_pktmbuf_mtod(&packet, const std::uint8_t*) + kEthertypeAt));
      if (!left) chunk.verdicts[i] = drop_or_punt(*outcome);
    } else if (incoming.packet.kind != PacketKind::interest) {
      chunk.verdicts[i] = forward_back(packet, incoming, counting_worker(chunk));
    } else {
      table_->fill(incoming.packet.name, keys[items]);
      if (chunk.fetch_ahead) table_->prefetch(keys[items]);
      chunk.packet_of_item[items++] = static_cast<std::uint8_t>(i);
    }
  }
  chunk.batch.items = items;
  chunk.batch.inputs[0] = keys;
  chunk.stage_scratch = waiting;
  chunk.batch.outputs[0] = chunk.columns.take<std::uint32_t>(Chunk::kCapacity);
}

void NdnFunction::post_shade(Chunk& chunk) noexcept {
  auto* const waiting = static_cast<Incoming*>(chunk.stage_scratch);
  const auto* const found = static_cast<const std::uint32_t*>(chunk.batch.outputs[0]);
  const std::uint32_t items = chunk.batch.items;
  for (std::uint32_t item = 0; item < items; ++item) table_->prefetch_node(found[item]);
  for (std::uint32_t item = 0; item < items; ++item) table_->prefetch_bytes(found[item]);
  for (std::uint32_t item = 0; item < items; ++item) {
    const std::uint8_t i = chunk.packet_of_item[item];
    Incoming& incoming = waiting[item];
    const std::uint16_t next_hop = table_->next_hop(found[item], incoming.packet.name);
    chunk.verdicts[i] = forward_interest(*chunk.packets[i], incoming, next_hop, counting_worker(chunk));
  }
}

/// Interests without route, and Interests whose route leads back to their face, get a Nack.
Verdict NdnFunction::forward_interest(rte_mbuf& packet, Incoming& incoming, std::uint16_t next_hop,
                                      std::uint16_t worker) {
  count(incoming.face, &FaceCounts::interests_in, worker);
  const NdnPacket& interest = incoming.packet;
  // A hop limit that reaches 0 allows only applications of this host, and there are none.
  if (interest.hop_limit != nullptr && *interest.hop_limit <= 1) return drop_or_punt(Outcome::hop_limit_used_up);
  if (next_hop == NameTable::kNoRoute || next_hop == incoming.face) {
    if (transport_.faces()[incoming.face].is_multicast()) return drop_or_punt(Outcome::no_route);
    const LpHeader nack(interest.token, kNackNoRoute, interest.network.size());
    return send(packet, incoming, nack, incoming.face, incoming.udp_port, &FaceCounts::nacks_out, worker);
  }
  if (interest.token.size() > PitToken::kMostInnerBytes) return drop_or_punt(Outcome::long_pit_token);
  const PitToken token(token_key_, {incoming.face, incoming.udp_port, interest.token}, next_hop);
  const std::size_t growth = interest.nonce_place != nullptr ? nonce_growth(interest) : 0;
  const LpHeader header(token.bytes(), std::nullopt, interest.network.size() + growth);
  return send(packet, incoming, header, next_hop, 0, &FaceCounts::interests_out, worker);
}

/// Forwards Data and Nacks by their PIT token.
Verdict NdnFunction::forward_back(rte_mbuf& packet, Incoming& incoming, std::uint16_t worker) {
  const bool is_nack = incoming.packet.kind == PacketKind::nack;
  count(incoming.face, is_nack ? &FaceCounts::nacks_in : &FaceCounts::data_in, worker);
  if (incoming.packet.token.empty()) return drop_or_punt(Outcome::no_pit_token);
  const auto origin = PitToken::open(token_key_, incoming.packet.token, incoming.face);
  if (!origin || origin->face >= transport_.faces().size()) return drop_or_punt(Outcome::bad_pit_token);
  const auto reason = is_nack ? std::optional(incoming.packet.nack_reason) : std::nullopt;
  const LpHeader header(origin->token, reason, incoming.packet.network.size());
  return send(packet, incoming, header, origin->face, origin->udp_port,
              is_nack ? &FaceCounts::nacks_out : &FaceCounts::data_out, worker);
}

/// Moves the Interest or Data into a frame of the face, in place. The bytes around it are overwritten. The hop limit of
/// a forwarded Interest is decremented, and it gets a Nonce if it has none.
Verdict NdnFunction::send(rte_mbuf& packet, Incoming& incoming, const LpHeader& header, std::uint16_t face,
                          std::uint16_t udp_port, std::uint64_t FaceCounts::* counted, std::uint16_t worker) {
  NdnPacket& its = incoming.packet;
  const bool goes_on = counted == &FaceCounts::interests_out;
  const std::size_t growth = goes_on && its.nonce_place != nullptr ? nonce_growth(its) : 0;
  const std::size_t network_bytes = its.network.size() + growth;
  const Bytes lp = header.bytes();
  const auto* const frame = rte_pktmbuf_mtod(&packet, const std::uint8_t*);
  const auto before = static_cast<std::size_t>(its.network.data() - frame) - growth;
  const std::size_t link_bytes = transport_.header_bytes(face), front = link_bytes + lp.size();
  const PortInfo& port = ports_[transport_.faces()[face].port];
  if (front + network_bytes > kEthernetBytes + port.mtu) return drop_or_punt(Outcome::too_long);
  if (front > before + rte_pktmbuf_headroom(&packet)) return drop_or_punt(Outcome::no_headroom);
  if (growth > 0) {
    add_nonce(its, static_cast<std::uint32_t>(Random::mixed(next_nonce_.fetch_add(1, std::memory_order_relaxed))));
  }
  packet.data_off = static_cast<std::uint16_t>(packet.data_off + before - front);
  packet.data_len = static_cast<std::uint16_t>(front + network_bytes);
  packet.pkt_len = packet.data_len;
  auto* const begin = rte_pktmbuf_mtod(&packet, std::uint8_t*);
  if (goes_on && its.hop_limit != nullptr) {
    auto* const hop_limit = const_cast<std::uint8_t*>(its.hop_limit);
    *hop_limit = static_cast<std::uint8_t>(*hop_limit - 1);
  }
  std::ranges::copy(lp, begin + link_bytes);
  transport_.write_header(face, udp_port, begin, lp.size() + network_bytes);
  headers_changed(packet);
  count(face, counted, worker);
  return Verdict::send(port.index);
}

/// Touches the worker's counters, so that count() causes no page fault.
void NdnFunction::prepare(std::uint16_t worker) noexcept {
  FaceCounts* const counts = counts_.data() + worker * transport_.faces().size();
  for (std::size_t face = 0; face < transport_.faces().size(); ++face) {
    std::atomic_ref(counts[face].interests_in).fetch_add(0, std::memory_order_relaxed);
  }
}

void NdnFunction::count(std::uint16_t face, std::uint64_t FaceCounts::* counted, std::uint16_t worker) {
  if (worker == kNoWorker) return;
  FaceCounts& counts = counts_[worker * transport_.faces().size() + face];
  const std::atomic_ref word(counts.*counted);
  word.store(word.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::vector<NdnFunction::RouteChange> NdnFunction::changes_to(const NameTable& next) const {
  constexpr std::uint16_t kNone = NameTable::kNoRoute;
  std::vector<RouteChange> changes;
  next.for_each([&](Bytes name, std::uint16_t after) {
    const std::uint16_t before = table_->find(name).value_or(kNone);
    if (before != after) changes.push_back({text_of(name), before, after});
  });
  table_->for_each([&](Bytes name, std::uint16_t before) {
    if (!next.find(name)) changes.push_back({text_of(name), before, kNone});
  });
  return changes;
}

std::vector<std::string> NdnFunction::differences(const Function& next, const ConfigNode& config) const {
  const auto& other = dynamic_cast<const NdnFunction&>(next);
  if (other.transport_.faces() != transport_.faces()) throw config.at("faces").error("other faces take a restart");
  std::size_t added = 0, removed = 0, changed = 0;
  for (const RouteChange& change : changes_to(*other.table_)) {
    ++(change.before == NameTable::kNoRoute ? added : change.after == NameTable::kNoRoute ? removed : changed);
  }
  if (added + removed + changed == 0) return {};
  return {fmt::format("routes: {} added, {} removed, {} changed, {} as before", added, removed, changed,
                      table_->size() - removed - changed)};
}

void NdnFunction::exchange(Function& next) {
  NameTable& other = *dynamic_cast<NdnFunction&>(next).table_;
  const std::vector<RouteChange> changes = changes_to(other);
  apply(*table_, changes, &RouteChange::before, &RouteChange::after);
  try {
    apply(other, changes, &RouteChange::after, &RouteChange::before);
  } catch (...) {
    apply(*table_, changes, &RouteChange::after, &RouteChange::before);
    throw;
  }
}

/// The trace of a sent packet shows the packet as sent.
std::string NdnFunction::trace(const Chunk& chunk, std::uint16_t packet) const {
  rte_mbuf& mbuf = *chunk.packets[packet];
  const Verdict given = chunk.verdicts[packet];
  const std::optional<std::size_t> item = item_of(chunk, packet);
  Incoming incoming;
  bool is_understood = false;
  std::string line;
  if (item) {
    incoming = static_cast<const Incoming*>(chunk.stage_scratch)[*item];
    is_understood = true;
  } else if (given.kind != Verdict::Kind::send) {
    const auto outcome = objection(mbuf, chunk.rx_port, incoming);
    is_understood = !outcome || *outcome == Outcome::localhost;
  }
  if (is_understood) {
    const char* const kind = incoming.packet.kind == PacketKind::interest ? "Interest"
                             : incoming.packet.kind == PacketKind::data   ? "Data"
                                                                          : "Nack";
    line = fmt::format("{} {} by {}", kind, to_uri(incoming.packet.name), transport_.faces()[incoming.face].name);
  } else if (given.kind == Verdict::Kind::send) {
    line = "Data or Nack by its PIT token";
  } else {
    line = fmt::format("no NDN packet, {} bytes", mbuf.pkt_len);
  }
  if (item) {
    const std::uint32_t found = static_cast<const std::uint32_t*>(chunk.batch.outputs[0])[*item];
    line += fmt::format(", {} components known", found >> NDN_NAMES_NODE_BITS);
  }
  if (given.kind == Verdict::Kind::send) {
    return line + fmt::format(": {} bytes out of {}", mbuf.pkt_len, ports_[given.value].name);
  }
  for (std::size_t i = 0; i < outcome_reasons().size(); ++i) {
    if (drop_or_punt(i) == given) return line + ": " + outcome_reasons()[i].name;
  }
  return line;
}

nlohmann::ordered_json NdnFunction::explain(const Chunk& chunk, std::uint16_t packet) const {
  auto explained = nlohmann::ordered_json::object();
  const std::optional<std::size_t> item = item_of(chunk, packet);
  if (!item) return explained;
  const Incoming& incoming = static_cast<const Incoming*>(chunk.stage_scratch)[*item];
  const std::uint32_t found = static_cast<const std::uint32_t*>(chunk.batch.outputs[0])[*item];
  const std::uint16_t face = table_->next_hop(found, incoming.packet.name);
  explained["name"] = to_uri(incoming.packet.name);
  explained["from_face"] = transport_.faces()[incoming.face].name;
  explained["route_to_face"] =
      face == NameTable::kNoRoute ? nlohmann::ordered_json() : nlohmann::ordered_json(transport_.faces()[face].name);
  return explained;
}

nlohmann::ordered_json NdnFunction::show(std::string_view topic, std::span<const std::string> arguments) const {
  if (topic == "names") return show_names(arguments);
  if (!arguments.empty()) throw std::invalid_argument(std::string(topic) + " takes no arguments");
  if (topic == "faces") return show_faces();
  throw std::invalid_argument("there is nothing to show under '" + std::string(topic) + "'");
}

nlohmann::ordered_json NdnFunction::show_names(std::span<const std::string> arguments) const {
  const RowLimit limit(arguments);
  arguments = limit.rest();
  if (arguments.size() > (limit.is_given() ? 0 : 1)) {
    throw std::invalid_argument("expected one NAME, 'all' or --limit N");
  }
  const bool everything = arguments.empty();
  std::vector<std::pair<std::string, std::uint16_t>> rows;
  std::string note = "the table is empty";
  if (everything) {
    table_->for_each([&](Bytes name, std::uint16_t face) {
      if (rows.size() < limit.most()) rows.emplace_back(to_uri(name), face);
    });
    std::ranges::sort(rows);
  } else {
    // Finds the longest prefix, like the look-up of an Interest.
    std::string name = parse_name_uri(arguments[0]);
    std::vector<std::size_t> ends{0};
    Bytes rest = as_bytes(name);
    for (Element component; take_component(rest, component);) ends.push_back(name.size() - rest.size());
    for (auto end = ends.rbegin(); end != ends.rend() && rows.empty(); ++end) {
      const auto components = static_cast<std::size_t>(ends.rend() - end) - 1;
      if (components > NameTable::kMostComponents || *end > NameBytes::kMost) continue;
      const Bytes prefix = as_bytes(name).first(*end);
      if (const auto face = table_->find(prefix)) rows.emplace_back(to_uri(prefix), *face);
    }
    note = arguments[0] + " has no route";
  }
  auto list = nlohmann::ordered_json::array();
  for (const auto& [name, face] : rows) list.push_back({{"prefix", name}, {"face", transport_.faces()[face].name}});
  const std::size_t total = everything ? table_->size() : rows.size();
  nlohmann::ordered_json answer = RowLimit::answer("names", std::move(list), rows.size(), total);
  if (!rows.empty()) note = answer.value("note", "");
  if (everything) {
    answer["prefixes"] = table_->prefixes();
    answer["memory_bytes"] = table_->memory_bytes();
  }
  if (!note.empty()) answer["note"] = note;
  return answer;
}

nlohmann::ordered_json NdnFunction::show_faces() const {
  auto list = nlohmann::ordered_json::array();
  const std::vector<Face>& faces = transport_.faces();
  for (std::size_t i = 0; i < faces.size(); ++i) {
    const Face& face = faces[i];
    const auto sum = [&](std::uint64_t FaceCounts::* counted) {
      std::uint64_t total = 0;
      for (std::size_t worker = 0; worker < workers_; ++worker) {
        auto& counts = const_cast<FaceCounts&>(counts_[worker * faces.size() + i]);
        total += std::atomic_ref(counts.*counted).load(std::memory_order_relaxed);
      }
      return total;
    };
    const bool udp = face.remote.link != FaceLink::ethernet;
    list.push_back({{"face", face.name},
                    {"port", ports_[face.port].name},
                    {"remote", to_string(face.remote)},
                    {"local", udp ? nlohmann::ordered_json(to_string(face.local)) : nlohmann::ordered_json()},
                    {"in",
                     {{"interests", sum(&FaceCounts::interests_in)},
                      {"data", sum(&FaceCounts::data_in)},
                      {"nacks", sum(&FaceCounts::nacks_in)}}},
                    {"out",
                     {{"interests", sum(&FaceCounts::interests_out)},
                      {"data", sum(&FaceCounts::data_out)},
                      {"nacks", sum(&FaceCounts::nacks_out)}}}});
  }
  return list;
}

namespace {

std::unique_ptr<Function> create(const ConfigNode& config, const FunctionContext& context) {
  config.require_map({"faces", "routes", "engine"});
  std::vector<Face> faces = read_faces(config.at("faces"), context.ports);
  std::vector<std::string> warnings;
  auto table = read_table(config, faces, context.grace_periods, warnings);
  return std::make_unique<NdnFunction>(context, std::move(faces), std::move(table), random_key(), std::move(warnings));
}

[[maybe_unused]] const bool kRegistered =
    register_function({.name = "ndn",
                       .summary = "forwards NDN packets by the longest prefix of their names",
                       .topics = {{"names", "[NAME|all]: the routes, or the one that a name takes", {RowLimit::flag()}},
                                  {"faces", "the faces, and what they have exchanged"}},
                       .create = create,
                       .ethertypes = {kEthertype},
                       .passes_on = PassesOn::ethertypes_of_others,
                       .addresses = UsedAddresses::both});

}  // namespace
}  // namespace penumbra::ndn
