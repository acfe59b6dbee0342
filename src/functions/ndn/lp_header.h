// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "functions/ndn/packet.h"

namespace penumbra::ndn {

/// What stands in front of an Interest or Data on a link: nothing, or an LpPacket's beginning up to its fragment.
class LpHeader {
 public:
  static constexpr std::size_t kMost = 4 + (2 + kMostTokenBytes) + 16 + 4;

  /// In front of `network_bytes` bytes: with a PIT token unless that is empty, and of a Nack if there is a reason.
  LpHeader(Bytes token, std::optional<std::uint64_t> nack_reason, std::size_t network_bytes);

  Bytes bytes() const { return {bytes_.data() + begin_, bytes_.size() - begin_}; }

 private:
  void put(std::uint64_t value, std::size_t count);
  void put_number(std::uint64_t number);
  void put_head(std::uint32_t type, std::uint64_t length);

  // Written from its end on, where lengths are known.
  std::array<std::uint8_t, kMost> bytes_;
  std::size_t begin_ = kMost;
};

}  // namespace penumbra::ndn
