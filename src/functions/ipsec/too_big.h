// SPDX-License-Identifier: Apache-2.0
//
// Tells a source that its packets are too long for a tunnel (RFC 1191; RFC 8201).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "penumbra/packet.h"

namespace penumbra::ipsec {

inline constexpr std::uint32_t kMostErrorBytes = 14 + 1280;  ///< Of the frame of an ICMP error.

/// Writes the ICMP error about a packet as a frame to its sender. `frame` has the first `readable` bytes of the packet,
/// which has no VLAN tag more than `headers` says. `own` is this router's address of the packet's family: 4 or 16
/// bytes. `mtu` is the longest packet that fits. Returns the bytes of the error, or 0 if RFC 1122, section 3.2.2,
/// forbids it.
std::uint32_t write_too_big(const std::uint8_t* frame, std::uint32_t readable, const PacketHeaders& headers,
                            const std::uint8_t* own, std::uint16_t mtu, std::span<std::uint8_t, kMostErrorBytes> to);

/// Limits errors to kMost a second.
class ErrorLimit {
 public:
  /// Returns true if an error may be sent at `now`, in nanoseconds.
  bool take(std::uint64_t now) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    if (now - begin_ >= kSecond) {
      begin_ = now;
      sent_ = 0;
    }
    return sent_++ < kMost;
  }

 private:
  static constexpr std::uint32_t kMost = 100;

  std::uint64_t begin_ = 0;
  std::uint32_t sent_ = 0;
};

}  // namespace penumbra::ipsec
