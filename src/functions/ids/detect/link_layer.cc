// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/link_layer.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <utility>

#include "penumbra/bytes.h"
#include "penumbra/packet.h"

namespace penumbra::ids {
namespace {

constexpr std::size_t kEthernetBytes = 14, kTypeAt = 12;
constexpr std::uint16_t kPppoeSession = 0x8864, kMpls = 0x8847, kMplsMulticast = 0x8848, kNsh = 0x894F;

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
                                                      {DLT_PPP_ETHER, Kind::pppoe},
                                                      {DLT_C_HDLC, Kind::cisco_hdlc}});
  const auto found = std::ranges::find(kKnown, link_type, &Known::link_type);
  if (found == kKnown.end()) return std::nullopt;
  return LinkLayer(found->kind);
}

std::string LinkLayer::known() {
  return "Ethernet, raw IP, Linux cooked v1 and v2, loopback, PPP, PPPoE, Cisco HDLC";
}

std::span<const std::uint8_t> LinkLayer::with_header(std::span<const std::uint8_t> network, std::uint16_t ethertype) {
  std::vector<std::uint8_t> made(kEthernetBytes);  // `network` may be a part of `made_`
  made.reserve(kEthernetBytes + network.size());
  made[kTypeAt] = static_cast<std::uint8_t>(ethertype >> 8);
  made[kTypeAt + 1] = static_cast<std::uint8_t>(ethertype);
  made.insert(made.end(), network.begin(), network.end());
  made_ = std::move(made);
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

/// RFC 3032: labels of 4 bytes, of which the last has a bit. A pseudowire begins with a control word (RFC 4385).
std::span<const std::uint8_t> LinkLayer::of_mpls(std::span<const std::uint8_t> frame) {
  constexpr std::size_t kLabel = 4;
  bool is_last = false;
  while (!is_last) {
    if (frame.size() <= kLabel) return {};
    is_last = (frame[2] & 1) != 0;
    frame = frame.subspan(kLabel);
  }
  const bool has_control_word = frame[0] >> 4 == 0 && frame.size() > kLabel;
  return has_control_word ? of_ethernet(frame.subspan(kLabel)) : of_ip(frame);
}

/// RFC 8300: a header whose length is in words of 4 bytes.
std::span<const std::uint8_t> LinkLayer::of_nsh(std::span<const std::uint8_t> frame) {
  constexpr std::uint8_t kIpv4 = 1, kIpv6 = 2, kEthernet = 3;
  if (frame.size() < 8) return {};
  const std::size_t header = std::size_t{frame[1] & 0x3FU} * 4;
  const std::uint8_t protocol = frame[3];
  if (header < 8 || header > frame.size()) return {};
  frame = frame.subspan(header);
  if (protocol == kEthernet) return of_ethernet(frame);
  return protocol == kIpv4 || protocol == kIpv6 ? of_ip(frame) : std::span<const std::uint8_t>{};
}

std::span<const std::uint8_t> LinkLayer::of_ethernet(std::span<const std::uint8_t> frame) {
  std::size_t at = kTypeAt;
  while (frame.size() >= at + 2 && ethertype::is_tag(load_be16(frame.data() + at))) at += 4;
  if (frame.size() < at + 2) return {};
  switch (load_be16(frame.data() + at)) {
    case kPppoeSession:
      return of_pppoe(frame.subspan(at + 2));
    case kMpls:
    case kMplsMulticast:
      return of_mpls(frame.subspan(at + 2));
    case kNsh:
      return of_nsh(frame.subspan(at + 2));
    default:
      return frame;
  }
}

std::span<const std::uint8_t> LinkLayer::to_ethernet(std::span<const std::uint8_t> frame) {
  constexpr std::size_t kCooked = 16, kCooked2 = 20, kFamily = 4, kHdlc = 4;
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
    case Kind::cisco_hdlc:
      if (frame.size() < kHdlc) return {};
      return of_ethernet(with_header(after(kHdlc), load_be16(frame.data() + 2)));
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
