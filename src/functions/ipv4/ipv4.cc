// SPDX-License-Identifier: Apache-2.0
#include "functions/ipv4/ipv4.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "control/route_json.h"
#include "control/routes.h"
#include "penumbra/bytes.h"
#include "penumbra/errors.h"
#include "penumbra/flow_hash.h"
#include "shaders/dir24_8/dir24_8_ahead.h"

namespace penumbra::ipv4 {
namespace {

constexpr std::uint32_t kFlowSeed = 0x49507634;  // any number that RSS does not use: see ipv4_flow_hash

/// Why a packet that was looked up is not sent on. The order is docs/functions/ipv4.md's.
Outcome refusal(const NextHopSlot& slot, std::uint8_t ttl) {
  if (slot.outcome != Outcome::forward && slot.outcome != Outcome::unknown_neighbour) return slot.outcome;
  if (ttl <= 1) return Outcome::ttl_expired;
  return slot.outcome == Outcome::forward ? Outcome::fragmentation_needed : slot.outcome;
}

}  // namespace

Ipv4Function::Ipv4Function(const FunctionContext& context) : fib_(context.ports, context.grace_periods) {
  bind(context.ports);
}

void Ipv4Function::bind(std::span<const PortInfo> ports) {
  ports_.assign(ports.begin(), ports.end());
  stations_.clear();
  for (const PortInfo& port : ports) stations_.emplace_back(port.mac, port.promiscuous);
  fib_.set_ports(ports);
}

Verdict Ipv4Function::verdict(Outcome outcome) const {
  const auto index = static_cast<std::uint16_t>(outcome);
  return (*reasons_)[index].kind == Verdict::Kind::drop ? drop(index) : punt(index);
}

void Ipv4Function::pre_shade(Chunk& chunk) noexcept {
  const StationFilter station = stations_[chunk.rx_port];
  auto* const addresses = chunk.columns.take<std::uint32_t>(Chunk::kCapacity);
  const Dir24_8Ahead ahead(fib_.table());
  std::uint32_t items = 0;
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
    const rte_mbuf* const packet = chunk.packets[i];
    const auto* const frame = rte_pktmbuf_mtod(packet, const std::uint8_t*);
    const Outcome outcome = inspect(frame, packet->data_len, packet->pkt_len, station);
    if (outcome != Outcome::forward) [[unlikely]] {
      chunk.verdicts[i] = verdict(outcome);
      continue;
    }
    addresses[items] = load_be32(frame + kEthernetBytes + kDestinationAt);
    if (chunk.fetch_ahead) ahead.fetch(Ipv4Address{addresses[items]});
    chunk.packet_of_item[items++] = static_cast<std::uint8_t>(i);
  }
  chunk.batch.items = items;
  chunk.batch.inputs[0] = addresses;
  chunk.batch.outputs[0] = chunk.columns.take<std::uint16_t>(Chunk::kCapacity);
}

void Ipv4Function::post_shade(Chunk& chunk) noexcept {
  const NextHopView next_hops = fib_.next_hops();
  const auto* const sets = static_cast<const std::uint16_t*>(chunk.batch.outputs[0]);
  for (std::uint32_t item = 0; item < chunk.batch.items; ++item) {
    const std::uint8_t i = chunk.packet_of_item[item];
    rte_mbuf* const packet = chunk.packets[i];
    auto* const frame = rte_pktmbuf_mtod(packet, std::uint8_t*);
    std::uint8_t* const header = frame + kEthernetBytes;
    const std::size_t total_bytes = load_be16(header + kTotalLengthAt);
    const NextHopSlot& slot = next_hops.slot(sets[item], [&] {
      // Ports are those of the packet: what follows it is padding, what is in a later segment is not at hand.
      return ipv4_flow_hash(header, std::min(total_bytes, packet->data_len - kEthernetBytes), kFlowSeed,
                            FlowPorts::udp_too);
    });
    if (header[kTtlAt] <= 1 || total_bytes > slot.mtu) [[unlikely]] {
      chunk.verdicts[i] = verdict(refusal(slot, header[kTtlAt]));
      continue;
    }
    std::memcpy(frame, slot.addresses.data(), slot.addresses.size());
    decrement_ttl(header);
    // What follows the packet may stay, but not where it makes the frame longer than the link takes.
    if (packet->data_len > kEthernetBytes + slot.mtu) [[unlikely]] {
      packet->data_len = static_cast<std::uint16_t>(kEthernetBytes + total_bytes);
      packet->pkt_len = packet->data_len;
    }
    chunk.verdicts[i] = Verdict::send(slot.port);
  }
}

/// Asks nothing of the table: its owner may be waiting for this very worker to become quiescent.
std::string Ipv4Function::trace(const Chunk& chunk, std::uint16_t packet) const {
  const rte_mbuf* const mbuf = chunk.packets[packet];
  const auto* const frame = rte_pktmbuf_mtod(mbuf, const std::uint8_t*);
  const Verdict verdict = chunk.verdicts[packet];
  const bool sent = verdict.kind == Verdict::Kind::send;
  std::string line;
  if (mbuf->data_len >= kEthernetBytes + kHeaderBytes && load_be16(frame + kEthertypeAt) == kEthertype) {
    const std::uint8_t* const header = frame + kEthernetBytes;
    line = to_string(Ipv4Address{load_be32(header + kSourceAt)}) + " > " +
           to_string(Ipv4Address{load_be32(header + kDestinationAt)}) + " ttl " +
           std::to_string(header[kTtlAt] + (sent ? 1 : 0)) + " length " +
           std::to_string(load_be16(header + kTotalLengthAt));
  } else {
    line = "no IPv4 header, " + std::to_string(mbuf->pkt_len) + " bytes";
  }
  const auto* const items = chunk.packet_of_item.data();
  const auto* const item = std::find(items, items + chunk.batch.items, packet);
  if (item != items + chunk.batch.items) {
    const std::uint16_t set = static_cast<const std::uint16_t*>(chunk.batch.outputs[0])[item - items];
    line += set == Dir24_8::kNoRoute ? ", no prefix" : ", next hop " + std::to_string(set);
  }
  if (sent) {
    const MacAddress neighbour{std::uint64_t{load_be16(frame)} << 32 | load_be32(frame + 2)};
    return line + ": to " + to_string(neighbour) + " out of " + ports_[verdict.value].name;
  }
  for (std::size_t i = 0; i < reasons_->size(); ++i) {
    if (this->verdict(static_cast<Outcome>(i)) == verdict) return line + ": " + (*reasons_)[i].name;
  }
  return line;
}

void Ipv4Function::configure(const ConfigNode& config, const FunctionContext& context) {
  Configuration configuration = read_configuration(config, context);
  const char* key = "neighbours";
  try {
    // Neighbours first, so that no route is there before what it leads to.
    for (const auto& neighbour : configuration.neighbours) fib_.set_neighbour(neighbour);
    fib_.commit();
    key = "routes";
    if (configuration.follows()) {
      subscription_ = context.feed->subscribe(to_request(configuration, ports_), listener_);
    } else if (!configuration.routes.routes.empty()) {
      fib_.load(configuration.routes);
    }
  } catch (const std::logic_error& error) {  // a limit
    const ConfigNode file = config.get(key);
    throw file.present() ? file.error(file.path().string() + ": " + error.what()) : config.error(error.what());
  }
  configuration_ = std::move(configuration);
  reasons_ = &outcome_reasons(configuration_.host_has_routes());
}

std::vector<std::string> Ipv4Function::differences(const Function& next, const ConfigNode& config) const {
  const Configuration& other = dynamic_cast<const Ipv4Function&>(next).configuration_;
  for (const char* key : {"follow", "table"}) {
    const bool same =
        std::string_view(key) == "table" ? other.table == configuration_.table : other.follow == configuration_.follow;
    if (same) continue;
    const ConfigNode node = config.get(key);
    throw(node.present() ? node : config).error("another source of routes takes a restart");
  }
  return ipv4::differences(configuration_, other);
}

void Ipv4Function::exchange(Function& next) {
  Configuration& other = dynamic_cast<Ipv4Function&>(next).configuration_;
  try {
    for (const auto& neighbour : other.neighbours) fib_.set_neighbour(neighbour);
    if (subscription_ != nullptr) {
      subscription_->replace_own(to_request(other, ports_));
    } else {
      fib_.load(other.routes);
    }
  } catch (...) {
    forget_neighbours(other.neighbours, configuration_.neighbours);
    for (const auto& neighbour : configuration_.neighbours) fib_.set_neighbour(neighbour);
    fib_.commit();
    if (subscription_ != nullptr) subscription_->replace_own(to_request(configuration_, ports_));
    throw;
  }
  forget_neighbours(configuration_.neighbours, other.neighbours);
  fib_.commit();
  std::swap(configuration_, other);
}

/// Those of the first list that the second has not.
void Ipv4Function::forget_neighbours(std::span<const control::Neighbour> known,
                                     std::span<const control::Neighbour> kept) {
  std::set<std::pair<std::string, Ipv4Address>> keep;
  for (const auto& neighbour : kept) keep.emplace(neighbour.port, neighbour.address);
  for (const auto& neighbour : known) {
    if (!keep.contains({neighbour.port, neighbour.address})) fib_.remove_neighbour(neighbour.address, neighbour.port);
  }
}

namespace {

std::unique_ptr<Function> create(const ConfigNode& config, const FunctionContext& context) {
  std::unique_ptr<Ipv4Function> function;
  try {
    function = std::make_unique<Ipv4Function>(context);
  } catch (const std::logic_error& error) {
    throw config.error(error.what());
  }
  function->configure(config, context);
  return function;
}

[[maybe_unused]] const bool kRegistered =
    register_function({.name = "ipv4",
                       .summary = "forwards IPv4 packets by longest prefix (RFC 1812)",
                       .topics = {{"routes", "[PREFIX|ADDRESS|all]: the routes, and which of them count"},
                                  {"neighbours", "known IPv4 neighbours"},
                                  {"sources", "who is followed for routes, and how that goes"}},
                       .create = create});

}  // namespace
}  // namespace penumbra::ipv4
