// SPDX-License-Identifier: Apache-2.0
//
// Builds frames for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penumbra::packet_testing {

using Bytes = std::vector<std::uint8_t>;

inline Bytes operator+(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Returns a number of two bytes in network order.
inline Bytes word(std::size_t value) {
  return {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
}
inline void put_word(Bytes& bytes, std::size_t at, std::size_t value) {
  bytes.at(at) = static_cast<std::uint8_t>(value >> 8);
  bytes.at(at + 1) = static_cast<std::uint8_t>(value);
}

/// Returns a frame from 02:00:00:00:00:02 to 02:00:00:00:00:01.
inline Bytes ethernet(std::size_t type, const Bytes& rest) {
  return Bytes{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2} + word(type) + rest;
}
/// Returns a tag without its own ethertype: the tag control information, and the ethertype of the rest.
inline Bytes tag(std::size_t tci, std::size_t type, const Bytes& rest) {
  return word(tci) + word(type) + rest;
}

/// Returns a packet from 10.0.0.1 to 10.0.0.2. `fragment` has flags and offset, `options` a multiple of 4 bytes. The
/// checksum of the header is 0.
inline Bytes ipv4(std::uint8_t protocol, const Bytes& payload, std::size_t fragment = 0, const Bytes& options = {}) {
  const std::size_t header = 20 + options.size();
  return Bytes{static_cast<std::uint8_t>(0x40 + header / 4), 0} + word(header + payload.size()) + word(0) +
         word(fragment) + Bytes{64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2} + options + payload;
}

/// Returns a packet from 2001:db8::1 to 2001:db8::2.
inline Bytes ipv6(std::uint8_t next_header, const Bytes& payload) {
  const Bytes prefix{0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return Bytes{0x60, 0, 0, 0} + word(payload.size()) + Bytes{next_header, 64} + prefix + Bytes{1} + prefix + Bytes{2} +
         payload;
}
/// Returns an IPv6 extension header of (`units` + 1) * 8 bytes.
inline Bytes extension(std::uint8_t next_header, std::uint8_t units = 0) {
  return Bytes{next_header, units} + Bytes(6 + std::size_t{units} * 8);
}
/// Returns an authentication header (RFC 4302) of (`units` + 2) * 4 bytes.
inline Bytes authentication(std::uint8_t next_header, std::uint8_t units = 4) {
  return Bytes{next_header, units} + Bytes((std::size_t{units} + 2) * 4 - 2);
}
/// Returns a fragment header of IPv6. `offset` counts bytes.
inline Bytes fragment_header(std::uint8_t next_header, std::size_t offset, bool more) {
  return Bytes{next_header, 0} + word(offset | (more ? 1U : 0U)) + Bytes{0, 0, 0, 9};
}

/// Returns a TCP header from port 1234 to 80 with SYN and ACK, and `options`, a multiple of 4 bytes.
inline Bytes tcp(const Bytes& options = {}) {
  const auto offset = static_cast<std::uint8_t>((20 + options.size()) / 4 << 4);
  return Bytes{0x04, 0xD2, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, offset, 0x12, 0, 0, 0, 0, 0, 0} + options;
}
/// Returns a datagram from port 1234 to 53.
inline Bytes udp(const Bytes& payload = {}) {
  return Bytes{0x04, 0xD2, 0, 53} + word(8 + payload.size()) + word(0) + payload;
}

}  // namespace penumbra::packet_testing
