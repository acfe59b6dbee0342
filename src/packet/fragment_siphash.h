// SPDX-License-Identifier: Apache-2.0
//
// SipHash, a keyed hash whose results nobody can predict without the key (J.-P. Aumasson, D. Bernstein: "SipHash: a
// fast short-input PRF", 2012). A CRC with a seed would not do: equal CRCs are equal for all seeds.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace penumbra {

/// A secret key. random_siphash_key() makes one.
struct SipHashKey {
  std::uint64_t low = 0, high = 0;
};

/// Returns a key from the kernel's random numbers. Throws std::runtime_error if there are none.
SipHashKey random_siphash_key();

/// Returns SipHash-`kRounds`-`kFinalRounds` of the words, read as little-endian bytes. SipHash-2-4 is the authors'
/// choice for secrets, and SipHash-1-3 suffices for hash tables.
template <unsigned kRounds, unsigned kFinalRounds, std::size_t kWords>
constexpr std::uint64_t siphash(const SipHashKey& key, const std::array<std::uint64_t, kWords>& words) {
  std::uint64_t a = key.low ^ 0x736F6D6570736575, b = key.high ^ 0x646F72616E646F6D;
  std::uint64_t c = key.low ^ 0x6C7967656E657261, d = key.high ^ 0x7465646279746573;
  const auto mix = [&](unsigned rounds) {
    for (unsigned i = 0; i < rounds; ++i) {
      a += b;
      b = std::rotl(b, 13) ^ a;
      a = std::rotl(a, 32);
      c += d;
      d = std::rotl(d, 16) ^ c;
      a += d;
      d = std::rotl(d, 21) ^ a;
      c += b;
      b = std::rotl(b, 17) ^ c;
      c = std::rotl(c, 32);
    }
  };
  const auto absorb = [&](std::uint64_t word) {
    d ^= word;
    mix(kRounds);
    a ^= word;
  };
  for (const std::uint64_t word : words) absorb(word);
  absorb(std::uint64_t{kWords * 8} << 56);
  c ^= 0xFF;
  mix(kFinalRounds);
  return a ^ b ^ c ^ d;
}

}  // namespace penumbra
