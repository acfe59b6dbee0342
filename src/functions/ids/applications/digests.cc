// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/digests.h"

#include <bit>
#include <cstring>

#include "crypto/sha1/sha1.h"
#include "penumbra/bytes.h"

namespace penumbra::ids {
namespace {

constexpr std::size_t kBlock = 64;

/// The integer part of 2^32 times the absolute sine of 1 to 64 (RFC 1321, section 3.4).
constexpr std::array<std::uint32_t, 64> kSines{
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
constexpr std::array<std::array<int, 4>, 4> kShifts{
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};

void md5_add_block(std::array<std::uint32_t, 4>& state, const std::uint8_t* block) {
  std::array<std::uint32_t, 16> words;
  std::memcpy(words.data(), block, kBlock);
  auto [a, b, c, d] = state;
  for (unsigned i = 0; i < 64; ++i) {
    std::uint32_t mixed = 0;
    unsigned word = 0;
    switch (i / 16) {
      case 0:
        mixed = (b & c) | (~b & d);
        word = i;
        break;
      case 1:
        mixed = (d & b) | (~d & c);
        word = (5 * i + 1) % 16;
        break;
      case 2:
        mixed = b ^ c ^ d;
        word = (3 * i + 5) % 16;
        break;
      default:
        mixed = c ^ (b | ~d);
        word = 7 * i % 16;
        break;
    }
    const std::uint32_t next = b + std::rotl(a + mixed + kSines[i] + words[word], kShifts[i / 16][i % 4]);
    a = d;
    d = c;
    c = b;
    b = next;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}

/// Calls `add` for each block of the message with its padding. `put_length` writes the number of bits.
template <class Add, class PutLength>
void for_each_block(std::span<const std::uint8_t> bytes, const Add& add, const PutLength& put_length) {
  std::size_t at = 0;
  for (; at + kBlock <= bytes.size(); at += kBlock) add(bytes.data() + at);
  std::array<std::uint8_t, 2 * kBlock> last{};
  const std::size_t rest = bytes.size() - at;
  if (rest > 0) std::memcpy(last.data(), bytes.data() + at, rest);
  last[rest] = 0x80;
  const std::size_t size = rest + 9 <= kBlock ? kBlock : 2 * kBlock;
  put_length(last.data() + size - 8, std::uint64_t{bytes.size()} * 8);
  for (std::size_t i = 0; i < size; i += kBlock) add(last.data() + i);
}

}  // namespace

static_assert(std::endian::native == std::endian::little, "MD5 reads and writes words in little-endian order");

std::array<std::uint8_t, 16> md5(std::span<const std::uint8_t> bytes) {
  std::array<std::uint32_t, 4> state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for_each_block(
      bytes, [&](const std::uint8_t* block) { md5_add_block(state, block); },
      [](std::uint8_t* at, std::uint64_t bits) { std::memcpy(at, &bits, sizeof bits); });
  return std::bit_cast<std::array<std::uint8_t, 16>>(state);
}

std::array<std::uint8_t, 20> sha1(std::span<const std::uint8_t> bytes) {
  std::array<std::uint32_t, SHA1_WORDS> state;
  sha1_begin(state.data());
  for_each_block(
      bytes, [&](const std::uint8_t* block) { sha1_add_block(state.data(), block); },
      [](std::uint8_t* at, std::uint64_t bits) {
        for (int i = 0; i < 8; ++i) at[i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
      });
  std::array<std::uint8_t, 20> digest;
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

}  // namespace penumbra::ids
