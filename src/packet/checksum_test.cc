// SPDX-License-Identifier: Apache-2.0
//
// Compares checksums with a sum of words in network order, whose carries are folded at once.
#include "packet/checksum.h"

#include <gtest/gtest.h>

#include <random>

#include "packet/testing.h"

namespace penumbra {
namespace {

using namespace packet_testing;

/// Returns the ones' complement sum in network order.
unsigned slow_sum(const Bytes& bytes) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += i % 2 == 0 ? bytes[i] * 256U : bytes[i];
    if (sum > 0xFFFF) sum -= 0xFFFF;
  }
  return sum;
}
unsigned sum_of(const Bytes& bytes) {
  return __builtin_bswap16(folded(ones_sum(bytes.data(), bytes.size())));
}
Bytes random_bytes(std::mt19937& random, std::size_t count) {
  Bytes bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() % 4 == 0 ? 0xFF : random());
  return bytes;
}

TEST(Checksum, OfKnownBytes) {
  EXPECT_EQ(sum_of({0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7}), 0xDDF2U) << "RFC 1071, section 3";
  Bytes header{0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xC0, 0xA8, 0, 1, 0xC0, 0xA8, 0, 0xC7};
  write_ipv4_checksum(header.data());
  EXPECT_EQ(load_be16(&header[10]), 0xB861);
  EXPECT_TRUE(is_right_sum(ones_sum(header.data(), header.size())));
  EXPECT_TRUE(ipv4_checksum_is_right(header.data(), header.size()));
  header[0] ^= 1;
  EXPECT_FALSE(is_right_sum(ones_sum(header.data(), header.size())));
  EXPECT_FALSE(ipv4_checksum_is_right(header.data(), header.size()));
}

TEST(Checksum, OfBytesOfAnySizeAndAlignment) {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 200; ++size) {
    for (std::size_t begin = 0; begin < 8; ++begin) {
      const Bytes bytes = random_bytes(random, begin + size);
      const Bytes summed(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end());
      EXPECT_EQ(__builtin_bswap16(folded(ones_sum(bytes.data() + begin, size))), slow_sum(summed)) << size;
    }
  }
}

TEST(Checksum, OfAnIpv4HeaderOfAnySize) {
  std::mt19937 random(5);
  for (std::size_t words = 5; words <= 15; ++words) {
    for (int round = 0; round < 100; ++round) {
      Bytes header = random_bytes(random, words * 4);
      header[0] = static_cast<std::uint8_t>(0x40 + words);
      write_ipv4_checksum(header.data());
      EXPECT_TRUE(ipv4_checksum_is_right(header.data(), header.size()));
      header[random() % header.size()] ^= 0x10;
      EXPECT_FALSE(ipv4_checksum_is_right(header.data(), header.size()));
    }
  }
}

TEST(Checksum, FoldsAnySum) {
  EXPECT_EQ(folded(0), 0);
  EXPECT_EQ(folded(0xFFFF), 0xFFFF);
  EXPECT_EQ(folded(~std::uint64_t{0}), 0xFFFF);
  EXPECT_EQ(folded(0x1'FFFF'FFFE), 0xFFFF);
  EXPECT_EQ(folded(0x10000), 1);
  std::mt19937_64 random(2);
  for (int round = 0; round < 10000; ++round) {
    const std::uint64_t sum = random() >> random() % 64;
    EXPECT_EQ(folded(sum) % 0xFFFF, sum % 0xFFFF);
    EXPECT_EQ(folded(sum) == 0, sum == 0);
  }
}

TEST(Checksum, OfUdpIsNever0) {
  EXPECT_EQ(checksum_of(0xFFFF), 0);
  EXPECT_EQ(nonzero_checksum_of(0xFFFF), 0xFFFF);
  EXPECT_EQ(nonzero_checksum_of(0x0102), checksum_of(0x0102));
}

TEST(Checksum, OfAPseudoHeader) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    const Bytes header = random_bytes(random, 40), source = random_bytes(random, 16);
    const std::size_t bytes = random() % 65536;
    const Bytes addresses4(header.begin() + 12, header.begin() + 20), addresses6(header.begin() + 8, header.end());
    const auto folded_be = [](std::uint64_t sum) { return __builtin_bswap16(folded(sum)); };
    EXPECT_EQ(folded_be(ipv4_pseudo_sum(header.data(), 17, bytes)), slow_sum(addresses4 + Bytes{0, 17} + word(bytes)));
    EXPECT_EQ(folded_be(ipv6_pseudo_sum(header.data(), 58, bytes)),
              slow_sum(addresses6 + word(0) + word(bytes) + Bytes{0, 0, 0, 58}));
    EXPECT_EQ(folded_be(ipv6_pseudo_sum(header.data(), 6, 0x12345)),
              slow_sum(addresses6 + word(1) + word(0x2345) + Bytes{0, 0, 0, 6}));
  }
}

/// The update must give what a computation over all words gives, in both byte orders.
template <class Word>
void expect_updates() {
  std::mt19937 random(4);
  for (int round = 0; round < 100'000; ++round) {
    Bytes bytes = random_bytes(random, 12);
    bytes[0] |= 1;  // Words that are all 0 have another form of the checksum of 0.
    const std::uint16_t before = checksum_of(ones_sum(bytes.data(), bytes.size()));
    const auto old_word = load<Word>(&bytes[4]);
    const Word new_word = static_cast<Word>(random() % 8 == 0 ? (random() % 2 == 0 ? 0 : ~0U) : random());
    store(&bytes[4], new_word);
    const std::uint16_t after = checksum_of(ones_sum(bytes.data(), bytes.size()));
    ASSERT_EQ(updated_checksum(before, old_word, new_word), after) << std::hex << old_word << " to " << new_word;
    if constexpr (sizeof(Word) == 2) {
      const auto swapped = [](std::uint16_t number) -> std::uint16_t { return __builtin_bswap16(number); };
      ASSERT_EQ(updated_checksum(swapped(before), swapped(old_word), swapped(new_word)), swapped(after));
    }
  }
}

TEST(Checksum, UpdatedForAWordOf16Bits) {
  expect_updates<std::uint16_t>();
}

TEST(Checksum, UpdatedForAWordOf32Bits) {
  expect_updates<std::uint32_t>();
}

/// RFC 1624, section 4.
TEST(Checksum, UpdatedAsInTheExample) {
  EXPECT_EQ(updated_checksum<std::uint16_t>(0xDD2F, 0x5555, 0x3285), 0x0000);
}

}  // namespace
}  // namespace penumbra
