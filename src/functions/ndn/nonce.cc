// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/nonce.h"

#include <cstring>

#include "penumbra/bytes.h"

namespace penumbra::ndn {
namespace {

constexpr std::size_t kElement = 6;

/// Returns the size of the Interest's length field, bytes. `network` has the type (one byte), the length and the value.
std::size_t length_bytes(Bytes network) {
  return network[1] < 253 ? 1 : 3;
}

}  // namespace

std::size_t nonce_growth(const NdnPacket& interest) {
  const std::size_t before = length_bytes(interest.network), value = interest.network.size() - 1 - before;
  return kElement + number_bytes(value + kElement) - before;
}

void add_nonce(NdnPacket& interest, std::uint32_t nonce) {
  const std::size_t growth = nonce_growth(interest);
  auto* const old_value = const_cast<std::uint8_t*>(interest.network.data()) + 1 + length_bytes(interest.network);
  auto* const value = old_value - kElement;
  const auto moved = static_cast<std::size_t>(interest.nonce_place - old_value);
  const std::size_t value_bytes = interest.network.size() - 1 - length_bytes(interest.network) + kElement;
  std::memmove(value, old_value, moved);
  value[moved] = kNonceType;
  value[moved + 1] = sizeof nonce;
  store(value + moved + 2, nonce);
  auto* const begin = const_cast<std::uint8_t*>(interest.network.data()) - growth;
  begin[0] = kInterestType;
  if (value_bytes < 253) {
    begin[1] = static_cast<std::uint8_t>(value_bytes);
  } else {
    begin[1] = 253;
    store(begin + 2, __builtin_bswap16(static_cast<std::uint16_t>(value_bytes)));
  }
  interest.network = {begin, interest.network.size() + growth};
  interest.name = {interest.name.data() - kElement, interest.name.size()};
  interest.nonce_place = nullptr;
}

}  // namespace penumbra::ndn
