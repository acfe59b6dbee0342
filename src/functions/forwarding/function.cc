// SPDX-License-Identifier: Apache-2.0
#include "functions/forwarding/function.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "control/config_lines.h"
#include "functions/forwarding/commands.h"
#include "functions/forwarding/families.h"
#include "functions/forwarding/show.h"
#include "penumbra/bytes.h"
#include "penumbra/errors.h"

namespace penumbra::forwarding {
namespace {

/// Returns why a packet is not forwarded after its look-up. The order of the checks is specified in
/// docs/functions/ipv4.md.
template <ForwardingFamily Family>
typename Family::Outcome refusal(const NextHopSlotOf<Family>& slot, std::uint8_t hops_left, bool link_local) {
  using Outcome = typename Family::Outcome;
  if (link_local && slot.outcome != Outcome::local && slot.outcome != Family::kToBroadcast) return Outcome::link_local;
  if (slot.outcome != Outcome::forward && slot.outcome != Outcome::unknown_neighbour) return slot.outcome;
  if (hops_left <= 1) return Family::kHopsUsedUp;
  return slot.outcome == Outcome::forward ? Family::kTooLong : slot.outcome;
}

}  // namespace

template <ForwardingFamily Family>
ForwardingFunction<Family>::ForwardingFunction(const FunctionContext& context, std::size_t lookup)
    : lookup_(lookup), tables_(context.ports, context.grace_periods, lookup) {
  bind(context.ports);
  leave_to_others(context.later_ethertypes, Family::kEthertype);
}

template <ForwardingFamily Family>
void ForwardingFunction<Family>::bind(std::span<const PortInfo> ports) {
  tables_.ports.assign(ports.begin(), ports.end());
  stations_.clear();
  for (const PortInfo& port : ports) stations_.emplace_back(port.mac, port.promiscuous);
  tables_.fib.set_ports(ports);
}

/// True if a later function may handle a frame that this function does not forward.
template <ForwardingFamily Family>
bool ForwardingFunction<Family>::is_for_another(Outcome outcome, const std::uint8_t* frame) const {
  if (outcome == Outcome::runt || outcome == Outcome::wrong_mac) return false;
  return is_left_to_others(load_be16(frame + kEthertypeAt));
}

template <ForwardingFamily Family>
void ForwardingFunction<Family>::pre_shade(Chunk& chunk) noexcept {
  using Header = typename Family::Header;
  const StationFilter station = stations_[chunk.rx_port];
  auto* const addresses = chunk.columns.take<typename Family::Column>(Chunk::kCapacity);
  const auto ahead = Family::ahead(tables_.fib.table(), lookup_);
  std::uint32_t items = 0;
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
    const rte_mbuf* const packet = chunk.packets[i];
    const auto* const frame = rte_pktmbuf_mtod(packet, const std::uint8_t*);
    const Outcome outcome = Family::inspect(frame, packet->data_len, packet->pkt_len, station);
    if (outcome != Outcome::forward) [[unlikely]] {
      if (!is_for_another(outcome, frame)) chunk.verdicts[i] = drop_or_punt(outcome);
      continue;
    }
    const Address destination = Header::destination(frame + kEthernetBytes);
    addresses[items] = Family::column(destination);
    if (chunk.fetch_ahead) ahead.fetch(destination);
    chunk.packet_of_item[items++] = static_cast<std::uint8_t>(i);
  }
  chunk.batch.items = items;
  chunk.batch.inputs[0] = addresses;
  chunk.batch.outputs[0] = chunk.columns.take<std::uint16_t>(Chunk::kCapacity);
}

template <ForwardingFamily Family>
void ForwardingFunction<Family>::post_shade(Chunk& chunk) noexcept {
  using Header = typename Family::Header;
  const NextHopView<Family> next_hops = tables_.fib.next_hops();
  const auto* const sets = static_cast<const std::uint16_t*>(chunk.batch.outputs[0]);
  const bool drops_link_local = drops_link_local_.load(std::memory_order_relaxed);
  for (std::uint32_t item = 0; item < chunk.batch.items; ++item) {
    const std::uint8_t i = chunk.packet_of_item[item];
    rte_mbuf* const packet = chunk.packets[i];
    auto* const frame = rte_pktmbuf_mtod(packet, std::uint8_t*);
    std::uint8_t* const header = frame + kEthernetBytes;
    const std::size_t total_bytes = Header::packet_bytes(header);
    const auto& slot = next_hops.slot(sets[item], [&] {
      // The flow hash reads ports from the packet only. Bytes after the packet are padding, and later segments are not
      // accessible here.
      return Header::flow_hash(header, std::min(total_bytes, packet->data_len - kEthernetBytes), Family::kFlowSeed);
    });
    const bool link_local = drops_link_local && Header::is_link_local(header);
    if (header[Header::kHopsLeftAt] <= 1 || total_bytes > slot.mtu || link_local) [[unlikely]] {
      chunk.verdicts[i] = drop_or_punt(refusal<Family>(slot, header[Header::kHopsLeftAt], link_local));
      continue;
    }
    std::memcpy(frame, slot.addresses.data(), slot.addresses.size());
    Header::decrement(header);
    // Padding may stay unless it makes the frame longer than the link's MTU allows.
    if (packet->data_len > kEthernetBytes + slot.mtu) [[unlikely]] {
      packet->data_len = static_cast<std::uint16_t>(kEthernetBytes + total_bytes);
      packet->pkt_len = packet->data_len;
    }
    chunk.verdicts[i] = Verdict::send(slot.port);
  }
}

/// Must not access the table's control side: its owner may hold a lock while it waits for this worker to become
/// quiescent.
template <ForwardingFamily Family>
std::string ForwardingFunction<Family>::trace(const Chunk& chunk, std::uint16_t packet) const {
  using Header = typename Family::Header;
  const rte_mbuf* const mbuf = chunk.packets[packet];
  const auto* const frame = rte_pktmbuf_mtod(mbuf, const std::uint8_t*);
  const Verdict verdict = chunk.verdicts[packet];
  const bool sent = verdict.kind == Verdict::Kind::send;
  std::string line;
  if (mbuf->data_len >= kEthernetBytes + Header::kBytes && load_be16(frame + kEthertypeAt) == Family::kEthertype) {
    const std::uint8_t* const header = frame + kEthernetBytes;
    line = to_string(Header::source(header)) + " > " + to_string(Header::destination(header)) + " " +
           Header::kHopsLeftName + " " + std::to_string(header[Header::kHopsLeftAt] + (sent ? 1 : 0)) + " length " +
           std::to_string(Header::packet_bytes(header));
  } else {
    line = "no " + std::string(Family::kName) + " header, " + std::to_string(mbuf->pkt_len) + " bytes";
  }
  if (const std::optional<std::size_t> item = item_of(chunk, packet)) {
    const std::uint16_t set = static_cast<const std::uint16_t*>(chunk.batch.outputs[0])[*item];
    line += set == Family::LookupTable::kNoRoute ? ", no prefix" : ", next hop " + std::to_string(set);
  }
  if (sent) {
    const MacAddress neighbour{std::uint64_t{load_be16(frame)} << 32 | load_be32(frame + 2)};
    return line + ": to " + to_string(neighbour) + " out of " + tables_.ports[verdict.value].name;
  }
  for (std::size_t i = 0; i < reasons_->size(); ++i) {
    if (drop_or_punt(i) == verdict) return line + ": " + (*reasons_)[i].name;
  }
  return line;
}

template <ForwardingFamily Family>
void ForwardingFunction<Family>::configure(const ConfigNode& config, const FunctionContext& context) {
  Configuration<Family> configuration = read_configuration<Family>(config, context);
  warnings_ = warnings_of(configuration, config, tables_.ports);
  const char* key = "neighbours";
  try {
    // Neighbours are added first, so that no route exists before its next hop.
    for (const auto& neighbour : configuration.neighbours) tables_.fib.set_neighbour(neighbour);
    tables_.fib.commit();
    key = "routes";
    if (configuration.follows()) {
      FeedRequest request = tables_.request_of(configuration);
      request.wants_ipv4 = Family::kEthertype == kIpv4Ethertype;
      request.wants_ipv6 = !request.wants_ipv4 || !is_left_to_others(kIpv6Ethertype);
      tables_.subscription = context.feed->subscribe(request, tables_.listener);
    } else if (!configuration.routes.routes.empty()) {
      tables_.fib.load(configuration.routes);
    }
  } catch (const std::logic_error& error) {  // a limit was reached
    const ConfigNode file = config.get(key);
    if (!file.present()) throw config.error(error.what());
    throw file.error((control::has_own_lines(file) ? "" : file.path().string() + ": ") + error.what());
  }
  tables_.configuration = std::move(configuration);
  reasons_ = &Family::reasons(tables_.configuration.host_has_routes());
  drops_link_local_ = Family::kLooksUpLinkLocal && !tables_.configuration.forwards_link_local;
}

template <ForwardingFamily Family>
std::vector<std::string> ForwardingFunction<Family>::differences(const Function& next, const ConfigNode& config) const {
  const auto& replacement = dynamic_cast<const ForwardingFunction&>(next);
  const Configuration<Family>& other = replacement.tables_.configuration;
  if (replacement.lookup_ != lookup_) {
    const ConfigNode node = config.get("lookup");
    throw(node.present() ? node : config).error("another look-up takes a restart");
  }
  for (const char* key : {"follow", "table"}) {
    const bool same = std::string_view(key) == "table" ? other.table == tables_.configuration.table
                                                       : other.follow == tables_.configuration.follow;
    if (same) continue;
    const ConfigNode node = config.get(key);
    throw(node.present() ? node : config).error("another source of routes takes a restart");
  }
  return forwarding::differences(tables_.configuration, other);
}

template <ForwardingFamily Family>
void ForwardingFunction<Family>::exchange(Function& next) {
  Configuration<Family>& other = dynamic_cast<ForwardingFunction&>(next).tables_.configuration;
  try {
    for (const auto& neighbour : other.neighbours) tables_.fib.set_neighbour(neighbour);
    if (tables_.subscription != nullptr) {
      tables_.subscription->replace_own(tables_.request_of(other));
    } else {
      tables_.fib.load(other.routes);
    }
  } catch (...) {
    forget_neighbours(other.neighbours, tables_.configuration.neighbours);
    for (const auto& [address, port, mac] : tables_.configuration.neighbours) {
      tables_.fib.set_neighbour(tables_.fib.last_index_of(port), address, mac);
    }
    tables_.fib.commit();
    if (tables_.subscription != nullptr) {
      tables_.subscription->replace_own(tables_.request_of(tables_.configuration));
    }
    throw;
  }
  forget_neighbours(tables_.configuration.neighbours, other.neighbours);
  tables_.fib.commit();
  std::swap(tables_.configuration, other);
  drops_link_local_ = Family::kLooksUpLinkLocal && !tables_.configuration.forwards_link_local;
}

/// Removes the neighbours of `known` that are not in `kept`. A port of either may be removed or renamed since.
template <ForwardingFamily Family>
void ForwardingFunction<Family>::forget_neighbours(Neighbours known, Neighbours kept) {
  Fib<Family>& fib = tables_.fib;
  std::set<std::pair<std::uint16_t, Address>> keep;
  for (const auto& neighbour : kept) keep.emplace(fib.last_index_of(neighbour.port), neighbour.address);
  for (const auto& neighbour : known) {
    const std::uint16_t port = fib.last_index_of(neighbour.port);
    if (!keep.contains({port, neighbour.address})) fib.remove_neighbour(port, neighbour.address);
  }
}

template <ForwardingFamily Family>
std::unique_ptr<Change> ForwardingFunction<Family>::prepare(std::string_view command, std::string_view action,
                                                            const CommandEntries& entries) {
  return forwarding::prepare(tables_, command, action, entries);
}

template <ForwardingFamily Family>
std::vector<ConfigTable> ForwardingFunction<Family>::tables() const {
  return config_tables(tables_.configuration);
}

template <ForwardingFamily Family>
void ForwardingFunction<Family>::tables_are_saved() {
  tables_.configuration.saved_routes.clear();
  tables_.configuration.saved_neighbours.clear();
}

template <ForwardingFamily Family>
nlohmann::ordered_json ForwardingFunction<Family>::explain(const Chunk& chunk, std::uint16_t packet) const {
  return forwarding::explain(tables_, chunk, packet);
}

template <ForwardingFamily Family>
nlohmann::ordered_json ForwardingFunction<Family>::show(std::string_view topic,
                                                        std::span<const std::string> arguments) const {
  return forwarding::show(tables_, topic, arguments, is_left_to_others(kIpv6Ethertype));
}

template <ForwardingFamily Family>
std::unique_ptr<Function> create(const ConfigNode& config, const FunctionContext& context) {
  std::unique_ptr<ForwardingFunction<Family>> function;
  const std::size_t lookup = read_lookup<Family>(config);
  try {
    function = std::make_unique<ForwardingFunction<Family>>(context, lookup);
  } catch (const std::logic_error& error) {
    throw config.error(error.what());
  }
  function->configure(config, context);
  return function;
}

#define INSTANTIATE(Family)                  \
  template class ForwardingFunction<Family>; \
  template std::unique_ptr<Function> create<Family>(const ConfigNode&, const FunctionContext&);
PENUMBRA_FOR_EACH_FAMILY(INSTANTIATE)
#undef INSTANTIATE

}  // namespace penumbra::forwarding
