// SPDX-License-Identifier: Apache-2.0
#include "functions/gswitch/rewrite.h"

#include <cstring>

namespace penumbra::gswitch {
namespace {

using control::rules::FlowAction;
using Kind = FlowAction::Kind;

constexpr std::size_t kMacBytes = 6, kChecksumOfIpv4 = 10, kChecksumOfTcp = 16, kChecksumOfUdp = 6;
constexpr std::uint16_t kVlanBits = 0x0FFF, kPriorityBits = 0xE000;
constexpr unsigned kPriorityBitsShift = 13;

void store_be16(std::uint8_t* bytes, std::uint16_t value) {
  store(bytes, __builtin_bswap16(value));
}

/// Returns the checksum after a 16-bit word changes (RFC 1624, equation 3).
std::uint16_t updated(std::uint16_t checksum, std::uint16_t before, std::uint16_t after) {
  std::uint32_t sum = (checksum ^ 0xFFFFU) + (before ^ 0xFFFFU) + after;
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

/// Sets fields of one packet.
class Rewriter {
 public:
  Rewriter(rte_mbuf& packet, PacketLayers& layers) : packet_(packet), layers_(layers) {}

  bool set(const FlowAction& action);

 private:
  std::uint8_t* at(std::size_t offset) { return rte_pktmbuf_mtod_offset(&packet_, std::uint8_t*, offset); }
  bool set_tag(std::uint16_t bits, std::uint16_t value);
  void strip_tag();
  void move_layers(std::ptrdiff_t by);
  void set_mac(std::size_t offset, std::uint64_t mac);
  void set_address(std::size_t offset, std::uint32_t address);
  void set_tos(std::uint8_t tos);
  void set_port(std::size_t offset, std::uint16_t port);
  void update_transport(std::uint16_t before, std::uint16_t after);

  rte_mbuf& packet_;
  PacketLayers& layers_;
};

void Rewriter::move_layers(std::ptrdiff_t by) {
  for (std::size_t* const layer : {&layers_.ipv4, &layers_.tcp, &layers_.udp}) {
    if (*layer != 0) *layer = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(*layer) + by);
  }
}

/// Sets the bits `bits` of the tag to `value`, and adds a tag if the frame has none.
bool Rewriter::set_tag(std::uint16_t bits, std::uint16_t value) {
  if (!layers_.is_tagged) {
    if (rte_pktmbuf_prepend(&packet_, kTagBytes) == nullptr) return false;
    std::memmove(at(0), at(kTagBytes), kTypeAt);
    store_be16(at(kTypeAt), kTagType);
    store_be16(at(kTypeAt + 2), 0);
    layers_.is_tagged = true;
    move_layers(kTagBytes);
  }
  std::uint8_t* const tag = at(kTypeAt + 2);
  store_be16(tag, static_cast<std::uint16_t>((load_be16(tag) & ~bits) | value));
  return true;
}

void Rewriter::strip_tag() {
  if (!layers_.is_tagged) return;
  std::memmove(at(kTagBytes), at(0), kTypeAt);
  rte_pktmbuf_adj(&packet_, kTagBytes);
  layers_.is_tagged = false;
  move_layers(-std::ptrdiff_t{kTagBytes});
}

void Rewriter::set_mac(std::size_t offset, std::uint64_t mac) {
  const std::uint64_t bytes = __builtin_bswap64(mac << 16);
  std::memcpy(at(offset), &bytes, kMacBytes);
}

/// A UDP checksum of 0 means that there is none. A computed checksum of 0 is sent as 0xFFFF (RFC 768).
void Rewriter::update_transport(std::uint16_t before, std::uint16_t after) {
  if (layers_.tcp != 0) {
    std::uint8_t* const checksum = at(layers_.tcp + kChecksumOfTcp);
    store_be16(checksum, updated(load_be16(checksum), before, after));
  } else if (layers_.udp != 0) {
    std::uint8_t* const checksum = at(layers_.udp + kChecksumOfUdp);
    if (load_be16(checksum) == 0) return;
    const std::uint16_t sum = updated(load_be16(checksum), before, after);
    store_be16(checksum, sum == 0 ? 0xFFFF : sum);
  }
}

/// `offset` is the position of the address in the IPv4 header.
void Rewriter::set_address(std::size_t offset, std::uint32_t address) {
  if (layers_.ipv4 == 0) return;
  std::uint8_t* const checksum = at(layers_.ipv4 + kChecksumOfIpv4);
  for (const unsigned half : {0U, 1U}) {
    std::uint8_t* const place = at(layers_.ipv4 + offset + std::size_t{2} * half);
    const std::uint16_t before = load_be16(place), after = static_cast<std::uint16_t>(address >> (half == 0 ? 16 : 0));
    store_be16(place, after);
    store_be16(checksum, updated(load_be16(checksum), before, after));
    update_transport(before, after);
  }
}

/// Sets the upper six bits. The ECN bits stay (OpenFlow 1.0, section 5.2.4).
void Rewriter::set_tos(std::uint8_t tos) {
  if (layers_.ipv4 == 0) return;
  std::uint8_t* const word = at(layers_.ipv4);
  const std::uint16_t before = load_be16(word);
  word[1] = static_cast<std::uint8_t>((word[1] & 0x03U) | tos);
  std::uint8_t* const checksum = word + kChecksumOfIpv4;
  store_be16(checksum, updated(load_be16(checksum), before, load_be16(word)));
}

void Rewriter::set_port(std::size_t offset, std::uint16_t port) {
  const std::size_t transport = layers_.tcp != 0 ? layers_.tcp : layers_.udp;
  if (!layers_.has_ports) return;
  std::uint8_t* const place = at(transport + offset);
  const std::uint16_t before = load_be16(place);
  store_be16(place, port);
  update_transport(before, port);
}

bool Rewriter::set(const FlowAction& action) {
  switch (action.kind) {
    case Kind::set_vlan:
      return set_tag(kVlanBits, static_cast<std::uint16_t>(action.value));
    case Kind::set_vlan_priority:
      return set_tag(kPriorityBits, static_cast<std::uint16_t>(action.value << kPriorityBitsShift));
    case Kind::strip_vlan:
      strip_tag();
      break;
    case Kind::set_destination_mac:
      set_mac(0, action.value);
      break;
    case Kind::set_source_mac:
      set_mac(kMacBytes, action.value);
      break;
    case Kind::set_source:
      set_address(12, static_cast<std::uint32_t>(action.value));
      break;
    case Kind::set_destination:
      set_address(16, static_cast<std::uint32_t>(action.value));
      break;
    case Kind::set_tos:
      set_tos(static_cast<std::uint8_t>(action.value));
      break;
    case Kind::set_source_port:
      set_port(0, static_cast<std::uint16_t>(action.value));
      break;
    case Kind::set_destination_port:
      set_port(2, static_cast<std::uint16_t>(action.value));
      break;
    case Kind::output:
    case Kind::enqueue:
      break;
  }
  return true;
}

}  // namespace

bool set_fields(rte_mbuf& packet, PacketLayers& layers, std::span<const FlowAction> actions) noexcept {
  Rewriter rewriter(packet, layers);
  for (const FlowAction& action : actions) {
    if (!rewriter.set(action)) return false;
  }
  return true;
}

}  // namespace penumbra::gswitch
