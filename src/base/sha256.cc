// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "penumbra/bytes.h"

namespace penumbra {
namespace {

constexpr std::size_t kBlock = 64, kRounds = 64, kLengthBytes = 8;

using State = std::array<std::uint32_t, 8>;

/// Section 5.3.3: from the square roots of the first eight primes.
constexpr State kInitial{0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                         0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};

/// Section 4.2.2: from the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, kRounds> kConstants{
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2};

std::uint32_t small_sigma(std::uint32_t word, int first, int second, int shift) {
  return std::rotr(word, first) ^ std::rotr(word, second) ^ word >> shift;
}
std::uint32_t big_sigma(std::uint32_t word, int first, int second, int third) {
  return std::rotr(word, first) ^ std::rotr(word, second) ^ std::rotr(word, third);
}

/// Implements section 6.2.2.
void add_block(State& state, const std::uint8_t* block) {
  std::array<std::uint32_t, kRounds> words;
  for (std::size_t i = 0; i < 16; ++i) words[i] = load_be32(block + 4 * i);
  for (std::size_t i = 16; i < kRounds; ++i) {
    words[i] =
        small_sigma(words[i - 2], 17, 19, 10) + words[i - 7] + small_sigma(words[i - 15], 7, 18, 3) + words[i - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < kRounds; ++i) {
    const std::uint32_t first = h + big_sigma(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + kConstants[i] + words[i];
    const std::uint32_t second = big_sigma(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const State added{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

}  // namespace

std::array<std::uint8_t, 32> sha256(std::span<const std::uint8_t> bytes) noexcept {
  State state = kInitial;
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (; bytes.size() >= kBlock; bytes = bytes.subspan(kBlock)) add_block(state, bytes.data());

  // Section 5.1.1: padding is a bit of 1, zeros, and the length in bits.
  std::array<std::uint8_t, 2 * kBlock> rest{};
  std::ranges::copy(bytes, rest.begin());
  rest[bytes.size()] = 0x80;
  const std::size_t end = bytes.size() + 1 + kLengthBytes <= kBlock ? kBlock : 2 * kBlock;
  for (std::size_t i = 0; i < kLengthBytes; ++i) rest[end - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
  for (std::size_t at = 0; at < end; at += kBlock) add_block(state, rest.data() + at);

  std::array<std::uint8_t, 32> digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

}  // namespace penumbra
