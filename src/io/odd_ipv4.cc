// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include "io/odd_frames.h"
#include "io/odd_packets.h"

namespace penumbra::io {
namespace {

using odd::Frame;
using odd::with_first_byte;

std::size_t with_time_to_live(const Frame& frame, std::uint8_t value) {
  frame.ip()[8] = value;
  write_ipv4_checksum(frame.ip());
  return frame.size;
}

/// Rewrites the 32-bit word at `offset` of the IPv4 header.
std::size_t with_word(const Frame& frame, std::size_t offset, std::uint32_t word) {
  store_be32(frame.ip() + offset, word);
  write_ipv4_checksum(frame.ip());
  return frame.size;
}

std::size_t with_total_length(const Frame& frame, std::size_t value) {
  store_be16(frame.ip() + 2, static_cast<std::uint16_t>(value));
  write_ipv4_checksum(frame.ip());
  return frame.size;
}

/// Makes the packet a first or a later fragment.
std::size_t as_fragment(const Frame& frame, std::uint16_t flags_and_offset) {
  store_be16(frame.ip() + 6, flags_and_offset);
  write_ipv4_checksum(frame.ip());
  return frame.size;
}

/// Replaces the first eight bytes after the header by two words of options: a router alert (RFC 2113) and padding.
std::size_t with_options(const Frame& frame) {
  frame.ip()[0] = 0x47;
  store_be32(frame.ip() + kIpv4Bytes, 0x94040000);
  store_be32(frame.ip() + kIpv4Bytes + 4, 0x01010100);
  write_ipv4_checksum(frame.ip());
  return frame.size;
}

std::size_t with_bad_checksum(const Frame& frame) {
  frame.ip()[10] ^= static_cast<std::uint8_t>(1 + frame.random.below(255));
  return frame.size;
}

std::size_t as_ipv6(const Frame& frame) {
  odd::with_ethertype(frame, 0x86DD);
  std::uint8_t* ip = frame.ip();
  std::memset(ip, 0, 40);
  ip[0] = 0x60;
  store_be16(ip + 4, static_cast<std::uint16_t>(frame.size - kEthernetBytes - 40));
  ip[6] = 59;  // No next header.
  ip[7] = 64;
  store_be32(ip + 8, 0x20010DB8);
  store_be32(ip + 20, 1);
  store_be32(ip + 24, 0x20010DB8);
  store_be32(ip + 36, 1 + frame.random.below(1 << 16));
  return frame.size;
}

constexpr std::array<odd::Oddity, 30> kIpv4Oddities{
    [](const Frame& frame) { return with_time_to_live(frame, 1); },
    [](const Frame& frame) { return with_time_to_live(frame, 0); },
    with_bad_checksum,
    [](const Frame& frame) { return with_first_byte(frame, 0x55); },
    [](const Frame& frame) { return with_first_byte(frame, 0x05); },
    [](const Frame& frame) { return with_first_byte(frame, 0x44); },
    [](const Frame& frame) { return with_first_byte(frame, 0x40); },
    [](const Frame& frame) { return with_total_length(frame, frame.random.below(20)); },
    [](const Frame& frame) { return with_total_length(frame, frame.size - kEthernetBytes + 1); },
    [](const Frame& frame) { return with_total_length(frame, 0xFFFF); },
    [](const Frame& frame) { return odd::cut(frame, 34, 20); },
    [](const Frame& frame) { return odd::cut(frame, 14, 20); },
    [](const Frame& frame) { return odd::cut(frame, 1, 13); },
    with_options,
    [](const Frame& frame) { return with_word(frame, 12, 0x7F000001); },                                 // 127/8.
    [](const Frame& frame) { return with_word(frame, 12, frame.random.below(1 << 24)); },                // 0/8.
    [](const Frame& frame) { return with_word(frame, 12, 0xE0000000 | frame.random.below(1U << 28)); },  // 224/4.
    [](const Frame& frame) { return with_word(frame, 12, 0xFFFFFFFF); },
    [](const Frame& frame) { return with_word(frame, 16, 0x7F000001); },
    [](const Frame& frame) { return with_word(frame, 16, frame.random.below(1 << 24)); },
    [](const Frame& frame) { return with_word(frame, 16, 0xF0000000 | frame.random.below(1U << 27)); },  // 240/5.
    // Multicast.
    [](const Frame& frame) { return with_word(frame, 16, 0xE0000000 | frame.random.below(1U << 28)); },
    [](const Frame& frame) { return with_word(frame, 16, 0xFFFFFFFF); },
    [](const Frame& frame) { return as_fragment(frame, 0x2000); },
    [](const Frame& frame) { return as_fragment(frame, static_cast<std::uint16_t>(1 + frame.random.below(1000))); },
    odd::to_all_stations,
    odd::as_arp_request,
    as_ipv6,
    odd::as_vlan,
    odd::as_lldp,
};

}  // namespace

std::size_t make_odd_ipv4(Random& random, std::uint8_t* frame, std::size_t bytes) {
  return kIpv4Oddities[random.below(kIpv4Oddities.size())]({random, frame, bytes});
}

}  // namespace penumbra::io
