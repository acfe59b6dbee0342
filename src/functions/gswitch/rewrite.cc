// SPDX-License-Identifier: Apache-2.0
#include "functions/gswitch/rewrite.h"

#include "packet/checksum.h"
#include "packet/edits.h"
#include "packet/mbuf_edits.h"

namespace penumbra::gswitch {
namespace {

using control::rules::FlowAction;
using Kind = FlowAction::Kind;

constexpr std::size_t kMacBytes = 6, kChecksumOfIpv4 = 10, kChecksumOfTcp = 16, kChecksumOfUdp = 6;
constexpr std::uint16_t kVlanBits = 0x0FFF, kPriorityBits = 0xE000;
constexpr unsigned kPriorityBitsShift = 13;

/// Updates a checksum after a word changes. All numbers have the byte order of memory.
template <std::unsigned_integral Word>
void update(std::uint8_t* checksum, Word before, Word after) {
  store(checksum, updated_checksum(load<std::uint16_t>(checksum), before, after));
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
  void set_address(std::size_t offset, std::uint32_t address);
  void set_tos(std::uint8_t tos);
  void set_port(std::size_t offset, std::uint16_t port);
  template <std::unsigned_integral Word>
  void update_transport(Word before, Word after);

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
    if (!push_tag(packet_, kTagType, 0)) return false;
    layers_.is_tagged = true;
    move_layers(kTagBytes);
  }
  std::uint8_t* const tag = at(kTypeAt + 2);
  store_be16(tag, static_cast<std::uint16_t>((load_be16(tag) & ~bits) | value));
  return true;
}

void Rewriter::strip_tag() {
  if (!layers_.is_tagged) return;
  pop_tag(packet_);
  layers_.is_tagged = false;
  move_layers(-std::ptrdiff_t{kTagBytes});
}

/// `before` and `after` have the byte order of memory. A UDP checksum of 0 means that there is none. A computed
/// checksum of 0 is sent as 0xFFFF (RFC 768).
template <std::unsigned_integral Word>
void Rewriter::update_transport(Word before, Word after) {
  if (layers_.tcp != 0) {
    update(at(layers_.tcp + kChecksumOfTcp), before, after);
  } else if (layers_.udp != 0) {
    std::uint8_t* const checksum = at(layers_.udp + kChecksumOfUdp);
    if (load<std::uint16_t>(checksum) == 0) return;
    update(checksum, before, after);
    if (load<std::uint16_t>(checksum) == 0) store<std::uint16_t>(checksum, 0xFFFF);
  }
}

/// `offset` is the position of the address in the IPv4 header.
void Rewriter::set_address(std::size_t offset, std::uint32_t address) {
  if (layers_.ipv4 == 0) return;
  std::uint8_t* const place = at(layers_.ipv4 + offset);
  const auto before = load<std::uint32_t>(place);
  store_be32(place, address);
  const auto after = load<std::uint32_t>(place);
  update(at(layers_.ipv4 + kChecksumOfIpv4), before, after);
  update_transport(before, after);
}

/// Sets the upper six bits. The ECN bits stay (OpenFlow 1.0, section 5.2.4).
void Rewriter::set_tos(std::uint8_t tos) {
  if (layers_.ipv4 == 0) return;
  std::uint8_t* const word = at(layers_.ipv4);
  const auto before = load<std::uint16_t>(word);
  word[1] = static_cast<std::uint8_t>((word[1] & 0x03U) | tos);
  update(word + kChecksumOfIpv4, before, load<std::uint16_t>(word));
}

void Rewriter::set_port(std::size_t offset, std::uint16_t port) {
  const std::size_t transport = layers_.tcp != 0 ? layers_.tcp : layers_.udp;
  if (!layers_.has_ports) return;
  std::uint8_t* const place = at(transport + offset);
  const auto before = load<std::uint16_t>(place);
  store_be16(place, port);
  update_transport(before, load<std::uint16_t>(place));
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
      store_mac(at(0), {action.value});
      break;
    case Kind::set_source_mac:
      store_mac(at(kMacBytes), {action.value});
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
  headers_changed(packet);
  for (const FlowAction& action : actions) {
    if (!rewriter.set(action)) return false;
  }
  return true;
}

}  // namespace penumbra::gswitch
