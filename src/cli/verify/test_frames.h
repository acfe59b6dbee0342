// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cli/verify/ipv4_rules.h"
#include "penumbra/ip.h"

namespace penumbra::cli::verify {

using Bytes = std::vector<std::uint8_t>;

/// The fields of a UDP packet in an Ethernet frame that a test chooses. All lengths and checksums are right.
struct TestPacket {
  std::uint32_t source = 0xC6336401;       // 198.51.100.1
  std::uint32_t destination = 0x0A000001;  // 10.0.0.1
  std::uint16_t source_port = 1000;
  std::uint8_t ttl = 64;
  std::uint8_t mark = 0;  ///< last byte of the payload, to distinguish packets
  std::uint16_t payload_bytes = 18;
};

inline void put16(std::vector<std::uint8_t>& bytes, std::size_t at, std::uint32_t value) {
  bytes[at] = static_cast<std::uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<std::uint8_t>(value);
}

inline void put_checksum(std::vector<std::uint8_t>& frame) {
  put16(frame, 24, header_checksum(Frame(frame).subspan(14, frame[14] % 16 * std::size_t{4})));
}

inline std::vector<std::uint8_t> make_frame(const TestPacket& packet) {
  std::vector<std::uint8_t> frame(14 + 20 + 8 + packet.payload_bytes);
  frame[0] = 0x02;
  put16(frame, 12, 0x0800);
  frame[14] = 0x45;
  put16(frame, 16, 28U + packet.payload_bytes);
  frame[22] = packet.ttl;
  frame[23] = 17;
  put16(frame, 26, packet.source >> 16);
  put16(frame, 28, packet.source);
  put16(frame, 30, packet.destination >> 16);
  put16(frame, 32, packet.destination);
  put16(frame, 34, packet.source_port);
  put16(frame, 36, 53);
  put16(frame, 38, 8U + packet.payload_bytes);
  frame.back() = packet.mark;
  put_checksum(frame);
  return frame;
}

/// The same for IPv6, without checksum, because routers ignore it.
struct TestIpv6Packet {
  Ipv6Address source{0x20010DB8'00FF'0000, 1};
  Ipv6Address destination{0x20010DB8'0010'0000, 1};
  std::uint16_t source_port = 1000;
  std::uint8_t hop_limit = 64;
  std::uint8_t mark = 0;
  std::uint16_t payload_bytes = 18;
  std::uint32_t label = 0;
  std::uint8_t next_header = 17;
};

inline std::vector<std::uint8_t> make_frame(const TestIpv6Packet& packet) {
  std::vector<std::uint8_t> frame(14 + 40 + 8 + packet.payload_bytes);
  frame[0] = 0x02;
  put16(frame, 12, 0x86DD);
  put16(frame, 14, 0x6000 | packet.label >> 16);
  put16(frame, 16, packet.label);
  put16(frame, 18, 8U + packet.payload_bytes);
  frame[20] = packet.next_header;
  frame[21] = packet.hop_limit;
  std::size_t at = 22;
  for (const Ipv6Address& address : {packet.source, packet.destination}) {
    for (const std::uint64_t half : {address.high, address.low}) {
      for (int shift = 48; shift >= 0; shift -= 16, at += 2)
        put16(frame, at, static_cast<std::uint32_t>(half >> shift));
    }
  }
  put16(frame, 54, packet.source_port);
  put16(frame, 56, 53);
  put16(frame, 58, 8U + packet.payload_bytes);
  frame.back() = packet.mark;
  return frame;
}

inline TestPacket one_hop_on(TestPacket packet) {
  packet.ttl -= 1;
  return packet;
}
inline TestIpv6Packet one_hop_on(TestIpv6Packet packet) {
  packet.hop_limit -= 1;
  return packet;
}

/// Returns the frame as a correct router sends it.
template <class Packet>
std::vector<std::uint8_t> make_routed(const Packet& packet, MacAddress to, MacAddress from) {
  auto frame = make_frame(one_hop_on(packet));
  for (unsigned i = 0; i < 6; ++i) {
    frame[i] = static_cast<std::uint8_t>(to.value >> (40 - 8 * i));
    frame[6 + i] = static_cast<std::uint8_t>(from.value >> (40 - 8 * i));
  }
  return frame;
}

}  // namespace penumbra::cli::verify
