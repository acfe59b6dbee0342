// SPDX-License-Identifier: Apache-2.0
//
// PIT tokens carry the way back in the packets. NDNLPv2 requires the answer to an Interest to repeat its PIT token. The
// outgoing token therefore has the origin of the Interest and the token that the Interest arrived with.
//
// The token includes a keyed hash (SipHash-1-3, 48 bits) of its content and of the face that receives the Interest.
// Only that face can use the token, and nobody can forge one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "functions/ndn/packet.h"
#include "tables/ndn_names/name_hash.h"

namespace penumbra::ndn {

/// Holds the origin of an Interest, with the token that it arrived with.
struct Origin {
  std::uint16_t face = 0;
  std::uint16_t udp_port = 0;  ///< UDP port of the sender; 0 without UDP
  Bytes token;
};

class PitToken {
 public:
  static constexpr std::size_t kOwnBytes = 10;  ///< face, UDP port, hash
  static constexpr std::size_t kMostInnerBytes = kMostTokenBytes - kOwnBytes;

  /// Creates the token of an Interest that is sent to `to_face`. `origin.token` has at most kMostInnerBytes bytes.
  PitToken(NameKey key, const Origin& origin, std::uint16_t to_face) : size_(kOwnBytes + origin.token.size()) {
    store<std::uint16_t>(bytes_.data(), __builtin_bswap16(origin.face));
    store<std::uint16_t>(bytes_.data() + 2, __builtin_bswap16(origin.udp_port));
    std::ranges::copy(origin.token, bytes_.begin() + kOwnBytes);
    const std::uint64_t hash = hash_of(key, to_face, bytes());
    std::memcpy(bytes_.data() + 4, &hash, kHashBytes);
  }
  Bytes bytes() const { return {bytes_.data(), size_}; }

  /// Returns the origin in a token that arrived from `from_face`. Returns std::nullopt if the token was not issued to
  /// that face.
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
