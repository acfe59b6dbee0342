// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/packet_view.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "penumbra/bytes.h"

namespace penumbra::ids {
namespace {

constexpr std::size_t kIcmpHeaderBytes = 8;

Ipv6Address ipv6_at(const std::uint8_t* bytes) {
  const auto word = [](const std::uint8_t* at) { return std::uint64_t{load_be32(at)} << 32 | load_be32(at + 4); };
  return {word(bytes), word(bytes + 8)};
}

}  // namespace

PacketView::PacketView(std::span<const std::uint8_t> frame, const PacketHeaders& headers)
    : frame_(frame), headers_(headers) {
  if (!is_readable()) return;
  const std::uint8_t* const ip = frame.data() + headers.network;
  if (is_ipv6()) {
    source_.ipv6 = ipv6_at(ip + 8);
    destination_.ipv6 = ipv6_at(ip + 24);
  } else {
    source_.ipv4.value = load_be32(ip + 12);
    destination_.ipv4.value = load_be32(ip + 16);
  }
  std::size_t begin = headers.payload;
  // The rest of the header of ICMP belongs to the header for rules, also that of ICMPv6.
  if (is_icmp() && !headers.has(PacketHeaders::kLaterFragment)) begin = headers.transport + kIcmpHeaderBytes;
  const std::size_t end = std::min<std::size_t>(headers.end, frame.size());
  if (begin < end) payload_ = frame.subspan(begin, end - begin);
}

PacketView PacketView::of_fragment(std::span<const std::uint8_t> frame, PacketHeaders headers) {
  headers.flags = static_cast<std::uint16_t>((headers.flags | PacketHeaders::kLaterFragment) & ~PacketHeaders::kPorts);
  headers.source_port = headers.destination_port = 0;
  PacketView view(frame, headers);
  view.payload_ = {};
  return view;
}

std::span<const std::uint8_t> PacketView::network() const {
  return frame_.subspan(headers_.network, headers_.transport - headers_.network);
}

std::span<const std::uint8_t> PacketView::transport() const {
  const std::size_t end = std::min<std::size_t>(headers_.end, frame_.size());
  return headers_.transport < end ? frame_.subspan(headers_.transport, end - headers_.transport)
                                  : std::span<const std::uint8_t>{};
}

void PacketView::fill(BufferTable& buffers) const {
  buffers.clear();
  buffers.set(Buffer::payload, payload_);
  buffers.set(Buffer::raw_payload, payload_);
  buffers.set(is_ipv6() ? Buffer::ipv6_header : Buffer::ipv4_header, network());
  if (headers_.has(PacketHeaders::kLaterFragment)) return;
  const std::span<const std::uint8_t> rest = transport();
  const auto header = rest.first(std::min<std::size_t>(rest.size() - payload_.size(), rest.size()));
  switch (protocol()) {
    case ip_protocol::kTcp:
      buffers.set(Buffer::tcp_header, header);
      break;
    case ip_protocol::kUdp:
      buffers.set(Buffer::udp_header, header);
      break;
    case ip_protocol::kIcmp:
      buffers.set(Buffer::icmpv4_header, header);
      break;
    case ip_protocol::kIcmpv6:
      buffers.set(Buffer::icmpv6_header, header);
      break;
    default:
      break;
  }
}

bool PacketView::matches(const PacketTest& test) const {
  return std::visit([this](const auto& each) { return holds(each); }, test);
}

bool PacketView::holds(const FieldTest& test) const {
  const std::uint8_t* const ip = frame_.data() + headers_.network;
  const bool has_transport = !headers_.has(PacketHeaders::kLaterFragment);
  const bool tcp = is_tcp() && has_transport;
  const bool icmp = is_icmp() && has_transport;
  const std::span<const std::uint8_t> header = transport();
  const auto in = [&](bool present, std::uint64_t value) { return present && test.value.contains(value); };
  const auto word = [&](bool present, std::size_t at) {
    return present && header.size() >= at + 2 && test.value.contains(load_be16(header.data() + at));
  };
  const auto long_word = [&](bool present, std::size_t at) {
    return present && header.size() >= at + 4 && test.value.contains(load_be32(header.data() + at));
  };
  // Only requests and their replies have an identifier (RFC 792, RFC 950).
  const bool has_icmp_id = icmp && (is_ipv6() ? headers_.icmp_type == 128 || headers_.icmp_type == 129
                                              : headers_.icmp_type == 0 || headers_.icmp_type == 8 ||
                                                    (headers_.icmp_type >= 13 && headers_.icmp_type <= 18));
  switch (test.field) {
    case HeaderField::payload_size:
      return in(true, payload_.size());
    case HeaderField::ttl:
      return in(true, ttl());
    case HeaderField::tos:
      return in(!is_ipv6(), ip[1]);
    case HeaderField::ip_id:
      return in(!is_ipv6(), load_be16(ip + 4));
    case HeaderField::ip_protocol:
      return in(true, protocol());
    case HeaderField::icmp_type:
      return in(icmp, headers_.icmp_type);
    case HeaderField::icmp_code:
      return in(icmp, headers_.icmp_code);
    case HeaderField::icmp_id:
      return word(has_icmp_id, 4);
    case HeaderField::icmp_sequence:
      return word(has_icmp_id, 6);
    case HeaderField::tcp_sequence:
      return long_word(tcp, 4);
    case HeaderField::tcp_acknowledgement:
      return long_word(tcp, 8);
    case HeaderField::tcp_window:
      return word(tcp, 14);
    case HeaderField::fragment_offset:
      return in(true, headers_.fragment_offset / 8);
  }
  return false;
}

bool PacketView::holds(const BitsTest& test) const {
  std::uint8_t value = 0;
  if (test.field == BitsTest::Field::tcp_flags) {
    if (!is_tcp() || headers_.has(PacketHeaders::kLaterFragment)) return false;
    value = headers_.tcp_flags;
  } else {
    if (is_ipv6()) return false;
    const std::uint8_t flags = frame_[headers_.network + 6] >> 5;  // RFC 791: reserved, DF, MF
    value = static_cast<std::uint8_t>((flags & 4 ? fragment_bits::kReserved : 0) |
                                      (flags & 2 ? fragment_bits::kDontFragment : 0) |
                                      (flags & 1 ? fragment_bits::kMoreFragments : 0));
  }
  value &= static_cast<std::uint8_t>(~test.ignored);
  switch (test.mode) {
    case BitsTest::Mode::exact:
      return value == test.bits;
    case BitsTest::Mode::all:
      return (value & test.bits) == test.bits;
    case BitsTest::Mode::any:
      return (value & test.bits) != 0;
    case BitsTest::Mode::none:
      return (value & test.bits) != test.bits;
  }
  return false;
}

bool PacketView::holds(const IpOptionTest& test) const {
  if (is_ipv6()) return false;
  const std::size_t header = std::size_t{frame_[headers_.network] & 0xFU} * 4;
  std::span<const std::uint8_t> options = frame_.subspan(headers_.network, header).subspan(20);
  while (!options.empty()) {
    const std::uint8_t type = options[0];
    if (test.option == IpOptionTest::kAny || type == test.option) return true;
    if (type == 0) return false;  // the end of the list
    const std::size_t size = type == 1 ? 1 : options.size() < 2 ? 0 : options[1];
    if (size == 0 || size > options.size()) return false;
    options = options.subspan(size);
  }
  return false;
}

bool PacketView::holds(const SameAddressTest& /*test*/) const {
  return source_.words(is_ipv6()) == destination_.words(is_ipv6());
}

}  // namespace penumbra::ids
