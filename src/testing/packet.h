// SPDX-License-Identifier: Apache-2.0
//
// Provides frames, packets without a pool and results, for tests of functions.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace penumbra::function_testing {

using Bytes = std::vector<std::uint8_t>;

/// Appends the low `count` bytes of a number, most significant byte first.
inline void append(Bytes& bytes, std::uint64_t number, unsigned count) {
  for (unsigned i = count; i-- > 0;) bytes.push_back(static_cast<std::uint8_t>(number >> 8 * i));
}

/// Returns the Internet checksum (RFC 1071). The result is 0 for data that includes its right checksum.
inline std::uint16_t checksum(const Bytes& bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += std::uint64_t{bytes[i]} << (i % 2 == 0 ? 8 : 0);
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

/// Represents a packet without a pool. The constructor sets only the fields of an mbuf that a function accesses.
struct Packet {
  explicit Packet(const Bytes& frame, std::size_t headroom = 0) : bytes(headroom) {
    bytes.insert(bytes.end(), frame.begin(), frame.end());
    mbuf.buf_addr = bytes.data();
    mbuf.buf_len = static_cast<std::uint16_t>(bytes.size());
    mbuf.data_off = static_cast<std::uint16_t>(headroom);
    mbuf.data_len = static_cast<std::uint16_t>(frame.size());
    mbuf.pkt_len = mbuf.data_len;
  }
  /// Returns the current bytes of the frame.
  Bytes frame() const {
    const auto begin = bytes.begin() + mbuf.data_off;
    return {begin, begin + mbuf.data_len};
  }

  Bytes bytes;  ///< With the headroom.
  rte_mbuf mbuf{};
  std::array<std::uint8_t, 64> metadata{};  ///< The private area follows the mbuf.
};

/// Holds the result for a frame: the frames sent by port, or the reason why none was sent.
struct Fate {
  // NOLINTBEGIN(readability-redundant-member-init): initialisers may omit the members
  std::string reason = {};
  std::map<unsigned, Bytes> sent = {};
  // NOLINTEND(readability-redundant-member-init)
  unsigned too_long = 0;  ///< Number of copies that exceed the MTU of their port.

  bool operator==(const Fate&) const = default;
};

}  // namespace penumbra::function_testing
