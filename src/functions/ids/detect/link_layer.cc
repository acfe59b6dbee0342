// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/link_layer.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <array>

#include "penumbra/bytes.h"
#include "penumbra/packet.h"

namespace penumbra::ids {
namespace {

constexpr std::size_t kEthernetBytes = 14, kTypeAt = 12;
constexpr std::uint16_t kPppoeSession = 0x8864;

/// The protocols of PPP (RFC 1661) that carry IP.
constexpr std::uint16_t kPppIpv4 = 0x0021, kPppIpv6 = 0x0057;

}  // namespace

std::optional<LinkLayer> LinkLayer::find(int link_type) {
  struct Known {
    int link_type;
    Kind kind;
  };
  constexpr std::array kKnown = std::to_array<Known>({{DLT_EN10MB, Kind::ethernet},
                                                      {DLT_RAW, Kind::raw},
                                                      {DLT_IPV4, Kind::raw},
                                                      {DLT_IPV6, Kind::raw},
                                                      {DLT_LINUX_SLL, Kind::linux_cooked},
                                                      {DLT_LINUX_SLL2, Kind::linux_cooked_2},
                                                      {DLT_NULL, Kind::loopback_host},
                                                      {DLT_LOOP, Kind::loopback_network},
                                                      {DLT_PPP, Kind::ppp},
                                                      {DLT_PPP_SERIAL, Kind::ppp},
                                                      {DLT_PPP_ETHER, Kind::pppoe}});
  const auto found = std::ranges::find(kKnown, link_type, &Known::link_type);
  if (found == kKnown.end()) return std::nullopt;
  return LinkLayer(found->kind);
}

std::string LinkLayer::known() {
  return "Ethernet, raw IP, Linux cooked v1 and v2, loopback, PPP, PPPoE";
}

std::span<const std::uint8_t> LinkLayer::with_header(std::span<const std::uint8_t> network, std::uint16_t ethertype) {
  made_.assign(kEthernetBytes, 0);
  made_[kTypeAt] = static_cast<std::uint8_t>(ethertype >> 8);
  made_[kTypeAt + 1] = static_cast<std::uint8_t>(ethertype);
  made_.insert(made_.end(), network.begin(), network.end());
  return made_;
}

std::span<const std::uint8_t> LinkLayer::of_ip(std::span<const std::uint8_t> packet) {
  if (packet.empty()) return {};
  const unsigned version = packet[0] >> 4;
  if (version != 4 && version != 6) return {};
  return with_header(packet, version == 4 ? ethertype::kIpv4 : ethertype::kIpv6);
}

std::span<const std::uint8_t> LinkLayer::of_ppp(std::span<const std::uint8_t> frame) {
  // RFC 1662: address and control may be left out, and so may the first byte of the protocol.
  if (frame.size() >= 2 && frame[0] == 0xFF && frame[1] == 0x03) frame = frame.subspan(2);
  if (frame.empty()) return {};
  const bool is_short = (frame[0] & 1) != 0;
  if (!is_short && frame.size() < 2) return {};
  const std::uint16_t protocol = is_short ? frame[0] : load_be16(frame.data());
  if (protocol != kPppIpv4 && protocol != kPppIpv6) return {};
  return of_ip(frame.subspan(is_short ? 1 : 2));
}

std::span<const std::uint8_t> LinkLayer::of_pppoe(std::span<const std::uint8_t> frame) {
  constexpr std::size_t kHeader = 6;  // RFC 2516: version, code, session, length
  if (frame.size() < kHeader || frame[1] != 0) return {};
  const std::size_t length = load_be16(frame.data() + 4);
  return of_ppp(frame.subspan(kHeader, std::min(length, frame.size() - kHeader)));
}

std::span<const std::uint8_t> LinkLayer::of_ethernet(std::span<const std::uint8_t> frame) {
  std::size_t at = kTypeAt;
  while (frame.size() >= at + 2 && ethertype::is_tag(load_be16(frame.data() + at))) at += 4;
  if (frame.size() < at + 2) return {};
  return load_be16(frame.data() + at) == kPppoeSession ? of_pppoe(frame.subspan(at + 2)) : frame;
}

std::span<const std::uint8_t> LinkLayer::to_ethernet(std::span<const std::uint8_t> frame) {
  constexpr std::size_t kCooked = 16, kCooked2 = 20, kFamily = 4;
  const auto after = [frame](std::size_t bytes) {
    return frame.size() < bytes ? std::span<const std::uint8_t>{} : frame.subspan(bytes);
  };
  switch (kind_) {
    case Kind::ethernet:
      return of_ethernet(frame);
    case Kind::raw:
      return of_ip(frame);
    // The family of a loopback frame differs between systems, so that the version of the packet decides.
    case Kind::loopback_host:
    case Kind::loopback_network:
      return of_ip(after(kFamily));
    case Kind::ppp:
      return of_ppp(frame);
    case Kind::pppoe:
      return of_pppoe(frame);
    case Kind::linux_cooked:
      if (frame.size() < kCooked) return {};
      return of_ethernet(with_header(after(kCooked), load_be16(frame.data() + 14)));
    case Kind::linux_cooked_2:
      if (frame.size() < kCooked2) return {};
      return of_ethernet(with_header(after(kCooked2), load_be16(frame.data())));
  }
  return {};
}

}  // namespace penumbra::ids
