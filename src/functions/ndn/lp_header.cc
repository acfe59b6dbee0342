// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/lp_header.h"

#include <algorithm>

namespace penumbra::ndn {

LpHeader::LpHeader(Bytes token, std::optional<std::uint64_t> nack_reason, std::size_t network_bytes) {
  if (token.empty() && !nack_reason) return;
  put_head(kFragmentType, network_bytes);
  if (nack_reason) {
    const std::size_t end = begin_;
    if (*nack_reason != kNackNoReason) {
      const std::uint64_t reason = *nack_reason;
      const std::size_t count = reason <= 0xFF ? 1 : reason <= 0xFFFF ? 2 : reason <= 0xFFFF'FFFF ? 4 : 8;
      put(reason, count);
      put_head(kNackReasonType, count);
    }
    put_head(kNackType, end - begin_);
  }
  if (!token.empty()) {
    begin_ -= token.size();
    std::ranges::copy(token, bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
    put_head(kPitTokenType, token.size());
  }
  put_head(kLpPacketType, kMost - begin_ + network_bytes);
}

void LpHeader::put(std::uint64_t value, std::size_t count) {
  for (; count > 0; --count, value >>= 8) bytes_[--begin_] = static_cast<std::uint8_t>(value);
}

/// `number` is below 65,536, because packets are shorter than 64 KiB.
void LpHeader::put_number(std::uint64_t number) {
  put(number, number < 253 ? 1 : 2);
  if (number >= 253) put(253, 1);
}

void LpHeader::put_head(std::uint32_t type, std::uint64_t length) {
  put_number(length);
  put_number(type);
}

}  // namespace penumbra::ndn
