// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cli/verify/header_oracle.h"
#include "penumbra/ip.h"

namespace penumbra::cli::verify {

/// What a test says of a UDP packet in an Ethernet frame; every length and checksum of it will be right.
struct TestPacket {
  std::uint32_t source = 0xC6336401;       // 198.51.100.1
  std::uint32_t destination = 0x0A000001;  // 10.0.0.1
  std::uint16_t source_port = 1000;
  std::uint8_t ttl = 64;
  std::uint8_t mark = 0;  ///< last byte of the payload, to tell packets apart
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

/// The frame as a right router would send it.
inline std::vector<std::uint8_t> make_routed(const TestPacket& packet, MacAddress to, MacAddress from) {
  TestPacket routed = packet;
  routed.ttl -= 1;
  auto frame = make_frame(routed);
  for (unsigned i = 0; i < 6; ++i) {
    frame[i] = static_cast<std::uint8_t>(to.value >> (40 - 8 * i));
    frame[6 + i] = static_cast<std::uint8_t>(from.value >> (40 - 8 * i));
  }
  return frame;
}

}  // namespace penumbra::cli::verify
