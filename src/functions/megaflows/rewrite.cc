// SPDX-License-Identifier: Apache-2.0
#include "functions/megaflows/rewrite.h"

#include <nmmintrin.h>

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "packet/checksum.h"
#include "packet/mbuf_edits.h"
#include "penumbra/bytes.h"
#include "penumbra/packet.h"

namespace penumbra::megaflows {
namespace {

/// Rewrites the fields of one packet.
class Rewriter {
 public:
  Rewriter(rte_mbuf& packet, PacketLayers& layers) : packet_(packet), layers_(layers) {}

  bool carry_out(const Action& action);

 private:
  std::uint8_t* at(std::size_t offset) { return rte_pktmbuf_mtod_offset(&packet_, std::uint8_t*, offset); }

  bool push(const Action& action);
  void pop();
  void shift(int bytes);
  void set_mac(std::size_t offset, const Action& action);
  void set_ipv4_address(std::size_t offset, const Action& action);
  void set_ipv6_address(std::size_t offset, const Action& action);
  /// Changes the 16 bits at `offset` of the network header to `(word & ~mask) | value`, and the checksum of IPv4.
  void set_word(std::size_t offset, std::uint16_t value, std::uint16_t mask);
  void set_label(const Action& action);
  void set_tos(const Action& action);
  void set_ttl(const Action& action);
  void set_port(std::size_t offset, const Action& action);
  /// Updates the checksum of the transport header for a change of the pseudo header or of a port.
  template <std::unsigned_integral Word>
  void update_transport(Word before, Word after);
  /// Updates the checksum of SCTP for a change of the ports.
  void update_sctp(std::uint32_t before, std::uint32_t after);

  rte_mbuf& packet_;
  PacketLayers& layers_;
};

constexpr std::size_t kIpv4ChecksumAt = 10;

/// Returns the bits that change in the CRC32c of a packet when its first four bytes change (RFC 9260, appendix A).
/// `bytes` bytes follow them. CRC is linear, so the bytes that stay count as 0.
std::uint32_t crc32c_change(std::uint32_t before, std::uint32_t after, std::size_t bytes) {
  std::uint64_t crc = _mm_crc32_u32(0, before ^ after);
  for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t)) crc = _mm_crc32_u64(crc, 0);
  for (; bytes > 0; --bytes) crc = _mm_crc32_u8(static_cast<std::uint32_t>(crc), 0);
  return static_cast<std::uint32_t>(crc);
}

bool Rewriter::push(const Action& action) {
  if (!push_tag(packet_, action.tpid, action.tci)) return false;
  layers_.is_tagged = true;
  shift(kTagBytes);
  return true;
}

/// The frame may have a further tag, which is then the outermost one.
void Rewriter::pop() {
  if (!layers_.is_tagged) return;
  pop_tag(packet_);
  layers_.is_tagged = ethertype::is_tag(load_be16(at(kEthertypeAt)));
  shift(-static_cast<int>(kTagBytes));
}

void Rewriter::shift(int bytes) {
  if (layers_.network != 0) layers_.network = static_cast<std::uint16_t>(layers_.network + bytes);
  if (layers_.transport != 0) layers_.transport = static_cast<std::uint16_t>(layers_.transport + bytes);
  layers_.end = static_cast<std::uint32_t>(static_cast<int>(layers_.end) + bytes);
}

void Rewriter::set_mac(std::size_t offset, const Action& action) {
  store_mac(at(offset), {(mac_at(at(offset)).value & ~action.mask.low) | action.value.low});
}

template <std::unsigned_integral Word>
void Rewriter::update_transport(Word before, Word after) {
  constexpr std::size_t kTcpChecksumAt = 16, kUdpChecksumAt = 6, kIcmpv6ChecksumAt = 2;
  if (layers_.transport == 0 || layers_.protocol == ip_protocol::kSctp) return;
  const bool is_udp = layers_.protocol == ip_protocol::kUdp;
  const std::size_t offset = is_udp                                  ? kUdpChecksumAt
                             : layers_.protocol == ip_protocol::kTcp ? kTcpChecksumAt
                                                                     : kIcmpv6ChecksumAt;
  std::uint8_t* const checksum = at(layers_.transport + offset);
  const auto old = load<std::uint16_t>(checksum);
  if (is_udp && old == 0) return;
  const std::uint16_t updated = updated_checksum(old, before, after);
  store<std::uint16_t>(checksum, is_udp && updated == 0 ? 0xFFFF : updated);
}

void Rewriter::set_ipv4_address(std::size_t offset, const Action& action) {
  if (layers_.network == 0 || !layers_.is_ipv4) return;
  std::uint8_t* const place = at(layers_.network + offset);
  const auto before = load<std::uint32_t>(place);
  store_be32(place, static_cast<std::uint32_t>((load_be32(place) & ~action.mask.low) | action.value.low));
  const auto after = load<std::uint32_t>(place);
  std::uint8_t* const checksum = at(layers_.network + kIpv4ChecksumAt);
  store(checksum, updated_checksum(load<std::uint16_t>(checksum), before, after));
  update_transport(before, after);
}

void Rewriter::set_ipv6_address(std::size_t offset, const Action& action) {
  constexpr std::size_t kDestinationAt = 24;
  if (layers_.network == 0 || layers_.is_ipv4) return;
  std::uint8_t* const place = at(layers_.network + offset);
  const bool is_summed = offset != kDestinationAt || !layers_.has_routing;
  const auto set_half = [&](std::uint8_t* half, std::uint64_t value, std::uint64_t mask) {
    for (std::size_t part = 0; part < 2; ++part) {
      const unsigned up = part == 0 ? 32 : 0;
      const auto before = load<std::uint32_t>(half + 4 * part);
      const std::uint32_t number = load_be32(half + 4 * part);
      store_be32(half + 4 * part, static_cast<std::uint32_t>((number & ~(mask >> up)) | value >> up));
      if (is_summed) update_transport(before, load<std::uint32_t>(half + 4 * part));
    }
  };
  set_half(place, action.value.high, action.mask.high);
  set_half(place + 8, action.value.low, action.mask.low);
}

void Rewriter::set_word(std::size_t offset, std::uint16_t value, std::uint16_t mask) {
  std::uint8_t* const place = at(layers_.network + offset);
  const auto before = load<std::uint16_t>(place);
  store_be16(place, static_cast<std::uint16_t>((load_be16(place) & ~mask) | value));
  if (!layers_.is_ipv4) return;
  std::uint8_t* const checksum = at(layers_.network + kIpv4ChecksumAt);
  store(checksum, updated_checksum(load<std::uint16_t>(checksum), before, load<std::uint16_t>(place)));
}

void Rewriter::set_label(const Action& action) {
  if (layers_.network == 0 || layers_.is_ipv4) return;
  std::uint8_t* const place = at(layers_.network);
  store_be32(place, static_cast<std::uint32_t>((load_be32(place) & ~action.mask.low) | action.value.low));
}

/// ToS is the second byte of IPv4. The traffic class of IPv6 begins 4 bits after the beginning of the header.
void Rewriter::set_tos(const Action& action) {
  if (layers_.network == 0) return;
  const unsigned up = layers_.is_ipv4 ? 0 : 4;
  set_word(0, static_cast<std::uint16_t>(action.value.low << up), static_cast<std::uint16_t>(action.mask.low << up));
}

/// TTL is the upper byte of a word of IPv4, and the hop limit the lower byte of a word of IPv6.
void Rewriter::set_ttl(const Action& action) {
  if (layers_.network == 0) return;
  const unsigned up = layers_.is_ipv4 ? 8 : 0;
  set_word(layers_.is_ipv4 ? 8 : 6, static_cast<std::uint16_t>(action.value.low << up),
           static_cast<std::uint16_t>(action.mask.low << up));
}

void Rewriter::set_port(std::size_t offset, const Action& action) {
  if (layers_.transport == 0 || layers_.protocol == ip_protocol::kIcmpv6) return;
  std::uint8_t* const ports = at(layers_.transport);
  std::uint8_t* const place = ports + offset;
  const auto before = load<std::uint16_t>(place);
  const auto both_before = load<std::uint32_t>(ports);
  store_be16(place, static_cast<std::uint16_t>((load_be16(place) & ~action.mask.low) | action.value.low));
  if (layers_.protocol == ip_protocol::kSctp) {
    update_sctp(both_before, load<std::uint32_t>(ports));
  } else {
    update_transport(before, load<std::uint16_t>(place));
  }
}

void Rewriter::update_sctp(std::uint32_t before, std::uint32_t after) {
  constexpr std::size_t kChecksumAt = 8;
  std::uint8_t* const checksum = at(layers_.transport + kChecksumAt);
  const std::size_t bytes_after = layers_.end - layers_.transport - sizeof(before);
  store(checksum, load<std::uint32_t>(checksum) ^ crc32c_change(before, after, bytes_after));
}

bool Rewriter::carry_out(const Action& action) {
  if (action.kind == Action::Kind::push_vlan) return push(action);
  if (action.kind == Action::Kind::pop_vlan) pop();
  if (action.kind != Action::Kind::set_field) return true;
  switch (action.field) {
    case Field::eth_dst:
      set_mac(0, action);
      break;
    case Field::eth_src:
      set_mac(6, action);
      break;
    case Field::nw_src:
      set_ipv4_address(12, action);
      break;
    case Field::nw_dst:
      set_ipv4_address(16, action);
      break;
    case Field::ipv6_src:
      set_ipv6_address(8, action);
      break;
    case Field::ipv6_dst:
      set_ipv6_address(24, action);
      break;
    case Field::ipv6_label:
      set_label(action);
      break;
    case Field::nw_tos:
      set_tos(action);
      break;
    case Field::nw_ttl:
      set_ttl(action);
      break;
    case Field::tp_src:
      set_port(0, action);
      break;
    case Field::tp_dst:
      set_port(2, action);
      break;
    default:
      break;  // place_of().can_be_set excludes the other fields.
  }
  return true;
}

}  // namespace

bool rewrite(rte_mbuf& packet, PacketLayers& layers, std::span<const Action> actions) noexcept {
  Rewriter rewriter(packet, layers);
  for (const Action& action : actions) {
    if (!rewriter.carry_out(action)) return false;
  }
  return true;
}

}  // namespace penumbra::megaflows
