// SPDX-License-Identifier: Apache-2.0
//
// The way back, carried by the packets themselves. NDNLPv2 has whoever answers an Interest repeat its PIT token; so the
// token that goes out with an Interest says where it came from, and holds the token that it came with. A keyed hash
// (SipHash-1-3, 48 bits) over that and the face that the Interest was sent to makes that face the only one that can use
// it, and nobody able to make one up.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "functions/ndn/packet.h"
#include "tables/ndn_names/name_hash.h"

namespace penumbra::ndn {

/// Where an Interest came from, and the token that it came with.
struct Origin {
  std::uint16_t face = 0;
  std::uint16_t udp_port = 0;  ///< of the sender; 0 without UDP
  Bytes token;
};

class PitToken {
 public:
  static constexpr std::size_t kOwnBytes = 10;  ///< face, UDP port, hash
  static constexpr std::size_t kMostInnerBytes = kMostTokenBytes - kOwnBytes;

  /// For an Interest that is sent to a face. `origin.token` has kMostInnerBytes at the most.
  PitToken(NameKey key, const Origin& origin, std::uint16_t to_face) : size_(kOwnBytes + origin.token.size()) {
    store<std::uint16_t>(bytes_.data(), __builtin_bswap16(origin.face));
    store<std::uint16_t>(bytes_.data() + 2, __builtin_bswap16(origin.udp_port));
    std::ranges::copy(origin.token, bytes_.begin() + kOwnBytes);
    const std::uint64_t hash = hash_of(key, to_face, bytes());
    std::memcpy(bytes_.data() + 4, &hash, kHashBytes);
  }
  Bytes bytes() const { return {bytes_.data(), size_}; }

  /// What a token says that came from a face: nothing if it was not given to it.
  static std::optional<Origin> open(NameKey key, Bytes token, std::uint16_t from_face) {
    if (token.size() < kOwnBytes) return std::nullopt;
    const std::uint64_t hash = hash_of(key, from_face, token);
    if (std::memcmp(token.data() + 4, &hash, kHashBytes) != 0) return std::nullopt;
    return Origin{load_be16(token.data()), load_be16(token.data() + 2), token.subspan(kOwnBytes)};
  }

 private:
  static constexpr std::size_t kHashBytes = 6;

  static std::uint64_t hash_of(NameKey key, std::uint16_t to_face, Bytes token) {
    NameHash hash(key);
    hash.add({to_face, token.first(4)});
    hash.add({to_face, token.subspan(kOwnBytes)});
    return hash.digest();
  }

  std::array<std::uint8_t, kMostTokenBytes> bytes_;
  std::size_t size_;
};

}  // namespace penumbra::ndn
