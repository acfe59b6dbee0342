// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "functions/ndn/packet.h"

namespace penumbra::ndn {

/// Holds the bytes before an Interest or Data on a link: none, or the beginning of an LpPacket up to its fragment.
class LpHeader {
 public:
  static constexpr std::size_t kMost = 4 + (2 + kMostTokenBytes) + 16 + 4;

  /// Builds the header for a fragment of `network_bytes` bytes. The header has a PIT token unless `token` is empty, and
  /// a Nack if `nack_reason` is set.
  LpHeader(Bytes token, std::optional<std::uint64_t> nack_reason, std::size_t network_bytes);

  Bytes bytes() const { return {bytes_.data() + begin_, bytes_.size() - begin_}; }

 private:
  void put(std::uint64_t value, std::size_t count);
  void put_number(std::uint64_t number);
  void put_head(std::uint32_t type, std::uint64_t length);

  // The header is written from its end, so that all lengths are known.
  std::array<std::uint8_t, kMost> bytes_;
  std::size_t begin_ = kMost;
};

}  // namespace penumbra::ndn
