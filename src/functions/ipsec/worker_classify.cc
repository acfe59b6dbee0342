// SPDX-License-Identifier: Apache-2.0
//
// Decides which packets are opened, sealed, dropped or passed on.
#include <fmt/format.h>
#include <rte_mbuf.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>

#include "functions/ipsec/ip_fields.h"
#include "functions/ipsec/worker.h"
#include "functions/ipsec/worker_work.h"
#include "packet/checksum.h"
#include "packet/mbuf_metadata.h"
#include "penumbra/bytes.h"

namespace penumbra::ipsec {
namespace {

namespace xfrm = control::xfrm;

constexpr std::uint16_t kIkePort = 500;
constexpr std::uint32_t kMarkerBytes = 4;

/// True for neighbour discovery (RFC 4861), without which there is no link, and which never leaves the link.
bool is_neighbour_discovery(const std::uint8_t* frame, const PacketHeaders& headers) {
  constexpr std::uint8_t kRouterSolicitation = 133, kRedirect = 137, kHopLimit = 255;
  return headers.has(PacketHeaders::kIpv6) && headers.has(PacketHeaders::kIcmp) &&
         headers.icmp_type >= kRouterSolicitation && headers.icmp_type <= kRedirect &&
         frame[headers.network + 7] == kHopLimit;
}

/// True for addresses that no router forwards to: multicast, broadcast and link-local ones.
bool stays_here(const Flow& flow) {
  const auto& bytes = flow.destination.bytes;
  if (flow.family == AF_INET6) return bytes[0] == 0xFF || (bytes[0] == 0xFE && (bytes[1] & 0xC0U) == 0x80);
  return bytes[0] >= 0xE0 || (bytes[0] == 169 && bytes[1] == 254);
}

/// True for IKE by its ports and, with NAT traversal, its marker of zeros (RFC 3948, section 2.2).
bool is_ike(const std::uint8_t* frame, const PacketHeaders& headers) {
  if (headers.protocol != ip_protocol::kUdp || !headers.has(PacketHeaders::kPorts)) return false;
  if (headers.destination_port == kIkePort) return true;
  return headers.destination_port == kNatPort && headers.end >= headers.payload + kMarkerBytes &&
         load_be32(frame + headers.payload) == 0;
}

bool has_fault(const PacketHeaders& headers, const std::uint8_t* frame) {
  if (headers.fault == HeaderFault::ip_length || headers.has(PacketHeaders::kTruncated)) return true;
  if (headers.has(PacketHeaders::kIpv6)) return false;
  const std::uint8_t* const ip = frame + headers.network;
  return !ipv4_checksum_is_right(ip, std::size_t{ip[0] & 0xFU} * 4);
}

std::string text_of(const DataSa& sa) {
  const xfrm::SaSettings& settings = sa.sa.settings;
  return fmt::format("spi {:#010x} {} -> {}", settings.id.spi, to_string(settings.source, settings.id.family),
                     to_string(settings.id.destination, settings.id.family));
}

std::string text_of(const PolicyEntry& entry, const char* direction) {
  const xfrm::Selector& selector = entry.policy.selector;
  const char* const action = entry.policy.action == xfrm::Action::block ? "discard"
                             : entry.policy.templates.empty()           ? "bypass"
                                                                        : "protect";
  const std::uint32_t interface_id = entry.policy.interface_id;
  return fmt::format("{} {}/{} -> {}/{} priority {}{}: {}", direction, to_string(selector.source, selector.family),
                     selector.source_prefix, to_string(selector.destination, selector.family),
                     selector.destination_prefix, entry.policy.priority,
                     interface_id != 0 ? fmt::format(" if_id {:#x}", interface_id) : "", action);
}

Why why_not_planned(EspFault fault) {
  switch (fault) {
    case EspFault::not_transportable:
      return Why::not_transportable;
    case EspFault::ttl:
      return Why::ttl_expired;
    case EspFault::cut:
      return Why::cut;
    default:
      return Why::too_long;
  }
}

}  // namespace

void IpsecWorker::classify(Chunk& chunk, std::uint16_t index, Works& works) noexcept {
  rte_mbuf& packet = *chunk.packets[index];
  const PacketHeaders& headers = headers_of(packet);
  if (headers.is_unparsable() && headers.fault != HeaderFault::arp_cut) return drop(chunk, index, Why::malformed);
  if (!headers.is_ip()) return;
  if (headers.has(PacketHeaders::kScattered)) return drop(chunk, index, Why::malformed);
  const auto* const frame = rte_pktmbuf_mtod(&packet, const std::uint8_t*);
  if (is_neighbour_discovery(frame, headers)) return;
  if (!works.snapshot->has_policies) {
    if (!is_ike(frame, headers)) drop(chunk, index, Why::no_policy_state);
    return;
  }
  Flow flow = flow_of(frame, headers);
  flow.interface_id = works.snapshot->interface_of_port(chunk.rx_port);
  // A route led the packet into this tunnel, after it was checked where it came in.
  if (flow.interface_id != 0) return apply_outbound(chunk, index, works, nullptr, flow);
  if (works.snapshot->is_own(flow.destination, flow.family)) {
    if (headers.protocol == ip_protocol::kEsp) {
      if (headers.has(PacketHeaders::kFragment)) return drop(chunk, index, Why::fragment_wanted);
      DataSa* const sa = works.snapshot->find(flow.destination, flow.family, headers.spi);
      if (sa == nullptr) return drop(chunk, index, Why::no_sa);
      if (sa->format.has_udp) return drop(chunk, index, Why::wrong_encapsulation);
      return classify_esp(chunk, index, works, *sa, headers.transport, flow);
    }
    if (classify_udp(chunk, index, works, flow)) return;
  }
  apply_policies(chunk, index, works, nullptr, flow);
}

bool IpsecWorker::classify_udp(Chunk& chunk, std::uint16_t index, Works& works, const Flow& flow) noexcept {
  constexpr std::uint8_t kKeepalive = 0xFF;
  const PacketHeaders& headers = headers_of(*chunk.packets[index]);
  const auto* const frame = rte_pktmbuf_mtod(chunk.packets[index], const std::uint8_t*);
  if (headers.protocol != ip_protocol::kUdp || !headers.has(PacketHeaders::kPorts)) return false;
  if (is_ike(frame, headers)) {
    chunk.verdicts[index] = parts_.function->punt(static_cast<std::uint16_t>(Why::ike));
    return true;
  }
  const auto& ports = works.snapshot->nat_ports;
  if (std::ranges::find(ports, headers.destination_port) == ports.end()) return false;
  const std::uint32_t bytes = headers.end - headers.payload;
  if (bytes == 1 && frame[headers.payload] == kKeepalive) {
    drop(chunk, index, Why::keepalive);
  } else if (bytes >= kMarkerBytes && load_be32(frame + headers.payload) == 0) {
    chunk.verdicts[index] = parts_.function->punt(static_cast<std::uint16_t>(Why::ike));
  } else if (bytes < kEspHeaderBytes) {
    drop(chunk, index, Why::cut);
  } else if (headers.has(PacketHeaders::kFragment)) {
    drop(chunk, index, Why::fragment_wanted);
  } else if (DataSa* const sa = works.snapshot->find(flow.destination, flow.family, load_be32(frame + headers.payload));
             sa == nullptr) {
    drop(chunk, index, Why::no_sa);
  } else if (!sa->format.has_udp) {
    drop(chunk, index, Why::wrong_encapsulation);
  } else {
    classify_esp(chunk, index, works, *sa, headers.payload, flow);
  }
  return true;
}

void IpsecWorker::classify_esp(Chunk& chunk, std::uint16_t index, Works& works, DataSa& sa, std::uint32_t esp_at,
                               const Flow& /*flow*/) noexcept {
  const rte_mbuf& packet = *chunk.packets[index];
  const PacketHeaders& headers = headers_of(*chunk.packets[index]);
  const auto* const frame = rte_pktmbuf_mtod(&packet, const std::uint8_t*);
  if (Note* const noted = note(chunk, index); noted != nullptr) noted->opened = text_of(sa);
  if (has_fault(headers, frame)) return drop(chunk, index, Why::malformed);
  if (sa.is_expired.load(std::memory_order_relaxed) || sa.is_used_up()) return drop(chunk, index, Why::expired_hard);
  OpenPlan plan;
  if (plan_open(sa.format, headers, esp_at, plan) != EspFault::none) return drop(chunk, index, Why::cut);
  if (packet.data_len < esp_at + kEspHeaderBytes) return drop(chunk, index, Why::malformed);
  const std::uint32_t low = load_be32(frame + esp_at + sizeof(std::uint32_t));
  const std::optional<std::uint64_t> number =
      sa.format.has_esn ? recover_number(low, sa.window->top(), sa.window->packets()) : low;
  const Replayed replayed = number ? sa.window->check(*number) : Replayed::late;
  if (replayed != Replayed::no) {
    const bool is_late = replayed == Replayed::late;
    if (!chunk.is_dry_run) (is_late ? sa.use->late : sa.use->replayed).fetch_add(1, std::memory_order_relaxed);
    return drop(chunk, index, is_late ? Why::late : Why::replayed);
  }
  if (chunk.is_dry_run) return emitter_.hold(chunk, index);
  Work& work = works.add(index, sa);
  work.is_open = true;
  work.number = number.value_or(0);
  work.open = plan;
}

void IpsecWorker::apply_policies(Chunk& chunk, std::uint16_t index, Works& works, DataSa* opened_by,
                                 const Flow& flow) noexcept {
  const Snapshot& snapshot = *works.snapshot;
  const bool is_local = stays_here(flow) || snapshot.is_own(flow.destination, flow.family);
  Found found;
  if (!is_local) found = cache_.find(snapshot, xfrm::Direction::forward, flow);
  const bool is_forward = found.policy != nullptr;
  // Addresses of this router may be unknown, because the kernel has them. Policies of both directions then protect.
  if (!is_forward && !found.is_unknown) found = cache_.find(snapshot, xfrm::Direction::in, flow);
  Note* const noted = note(chunk, index);
  if (noted != nullptr && found.policy != nullptr) noted->policy = text_of(*found.policy, is_forward ? "fwd" : "in");
  if (found.is_unknown) return drop(chunk, index, Why::fragment_wanted);
  if (found.policy == nullptr && opened_by == nullptr &&
      (is_local ? snapshot.defaults.blocks_in : snapshot.defaults.blocks_forward)) {
    return drop(chunk, index, Why::discarded);
  }
  const Inbound inbound = check_inbound(found.policy, opened_by, flow);
  if (inbound != Inbound::allowed) {
    return drop(chunk, index, inbound == Inbound::discarded ? Why::discarded : Why::policy_mismatch);
  }
  if (is_local) return;
  Flow leaving = flow;
  leaving.interface_id = 0;
  apply_outbound(chunk, index, works, opened_by, leaving);
}

void IpsecWorker::apply_outbound(Chunk& chunk, std::uint16_t index, Works& works, const DataSa* opened_by,
                                 const Flow& flow) noexcept {
  const Found found = cache_.find(*works.snapshot, xfrm::Direction::out, flow);
  Note* const noted = note(chunk, index);
  if (noted != nullptr && found.policy != nullptr) noted->policy = text_of(*found.policy, "out");
  if (found.is_unknown) return drop(chunk, index, Why::fragment_wanted);
  if (found.policy != nullptr && found.policy->policy.action == xfrm::Action::block) {
    return drop(chunk, index, Why::discarded);
  }
  if (found.policy != nullptr && found.policy->wanted() != nullptr) {
    return plan(chunk, index, works, *found.policy, opened_by, flow);
  }
  // Packets that are routed into a tunnel never leave in clear.
  if (flow.interface_id != 0) return drop(chunk, index, Why::no_tunnel_policy);
  if (found.policy == nullptr && works.snapshot->defaults.blocks_out) drop(chunk, index, Why::discarded);
}

void IpsecWorker::plan(Chunk& chunk, std::uint16_t index, Works& works, const PolicyEntry& policy,
                       const DataSa* opened_by, const Flow& flow) noexcept {
  const PacketHeaders& headers = headers_of(*chunk.packets[index]);
  const auto* const frame = rte_pktmbuf_mtod(chunk.packets[index], const std::uint8_t*);
  DataSa* const sa = policy.policy.templates.size() == 1 ? choose_sa(policy, flow) : nullptr;
  if (sa == nullptr) {
    if (policy.wanted()->optional && policy.policy.templates.size() == 1 && flow.interface_id == 0) return;
    if (parts_.events != nullptr && !chunk.is_dry_run) {
      parts_.events->push({.kind = Event::Kind::acquire, .sa = 0, .policy = policy.policy.index, .flow = flow});
    }
    return drop(chunk, index, Why::no_outbound_sa);
  }
  if (Note* const noted = note(chunk, index); noted != nullptr) noted->sealed = text_of(*sa);
  if (has_fault(headers, frame)) return drop(chunk, index, Why::malformed);
  if (sa->is_used_up()) return drop(chunk, index, Why::expired_hard);
  // The peer's own address is routed into its tunnel, and so would be the sealed packet.
  if (flow.interface_id != 0 && sa->sa.settings.id.family == flow.family &&
      sa->sa.settings.id.destination == flow.destination) {
    return drop(chunk, index, Why::tunnel_loop);
  }
  SealPlan seal;
  const Aging aging = flow.interface_id != 0 ? Aging::keeps : Aging::ages;
  if (const EspFault fault = plan_seal(sa->format, frame, headers, aging, seal); fault != EspFault::none) {
    return drop(chunk, index, why_not_planned(fault));
  }
  constexpr std::uint32_t kLeastIpv6Mtu = 1280;
  const bool is_ipv6 = headers.has(PacketHeaders::kIpv6);
  const bool has_df = is_ipv6 ? headers.end - headers.network > kLeastIpv6Mtu
                              : !sa->format.clears_df && (load_be16(frame + headers.network + 6) & kDontFragment) != 0;
  const bool is_too_big = seal.head_bytes - headers.network + seal.esp_bytes > parts_.mtu;
  if (has_df && is_too_big) return refuse_too_big(chunk, index, works, *sa, opened_by, flow);
  if (chunk.is_dry_run) return emitter_.hold(chunk, index);
  // Only packets of IPv4 in a tunnel may be fragmented before (RFC 4301, section 8.2.1).
  if (is_too_big && parts_.fragments_first && sa->format.is_tunnel && !is_ipv6 &&
      sa->format.tfc_bytes <= inner_mtu(sa->format, parts_.mtu)) {
    Work work;
    work.index = static_cast<std::uint8_t>(index);
    work.sa = sa;
    work.aging = aging;
    return add_fragments(chunk, work, works);
  }
  works.add(index, *sa).seal = seal;
}

bool IpsecWorker::passes_in_clear(const Snapshot& snapshot, const Flow& flow) noexcept {
  const Found found = cache_.find(snapshot, xfrm::Direction::out, flow);
  if (found.policy == nullptr) return !snapshot.defaults.blocks_out;
  return found.policy->policy.action == xfrm::Action::allow && found.policy->wanted() == nullptr;
}

void IpsecWorker::refuse_too_big(Chunk& chunk, std::uint16_t index, const Works& works, const DataSa& sa,
                                 const DataSa* opened_by, const Flow& flow) noexcept {
  drop(chunk, index, Why::packet_too_big);
  // The source of an opened packet is beyond a tunnel. An error would reach it in clear.
  if (opened_by != nullptr || chunk.is_dry_run || !errors_.take(chunk.now)) return;
  rte_mbuf& packet = *chunk.packets[index];
  const PacketHeaders& headers = headers_of(packet);
  const auto* const frame = rte_pktmbuf_mtod(&packet, const std::uint8_t*);
  const xfrm::Address* const own = works.snapshot->address_of_port(chunk.rx_port, flow.family);
  const xfrm::Address& from = own != nullptr ? *own : flow.destination;
  // Routes lead an error back from an interface of IPsec. It has no protection there.
  const bool is_routed = flow.interface_id != 0;
  Flow back;
  back.source = from;
  back.destination = flow.source;
  back.family = flow.family;
  back.protocol = flow.family == AF_INET6 ? ip_protocol::kIcmpv6 : ip_protocol::kIcmp;
  if (is_routed && !passes_in_clear(*works.snapshot, back)) return;
  rte_mbuf* const error = emitter_.allocate();
  if (error == nullptr) return;
  const std::uint32_t room = rte_pktmbuf_tailroom(error);
  const auto mtu = static_cast<std::uint16_t>(inner_mtu(sa.format, parts_.mtu));
  const std::uint32_t bytes = room < kMostErrorBytes
                                  ? 0
                                  : write_too_big(frame, packet.data_len, headers, from.bytes.data(), mtu,
                                                  std::span<std::uint8_t, kMostErrorBytes>(
                                                      rte_pktmbuf_mtod(error, std::uint8_t*), kMostErrorBytes));
  if (bytes == 0) return emitter_.discard(error);
  rte_pktmbuf_append(error, static_cast<std::uint16_t>(bytes));
  error->port = chunk.rx_port;
  emitter_.emit(error, is_routed ? Verdict{} : Verdict::send(chunk.rx_port));
}

}  // namespace penumbra::ipsec
