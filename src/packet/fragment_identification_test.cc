// SPDX-License-Identifier: Apache-2.0
#include "packet/fragment_identification.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace penumbra {
namespace {

constexpr SipHashKey kPaperKey{0x0706050403020100, 0x0F0E0D0C0B0A0908};

/// The vectors of the authors (vectors.h of their reference implementation): inputs 00 01 02 ...
TEST(SipHash, GivesTheAuthorsVectors) {
  constexpr std::uint64_t kFirst = 0x0706050403020100, kSecond = 0x0F0E0D0C0B0A0908;
  EXPECT_EQ((siphash<2, 4>(kPaperKey, std::array<std::uint64_t, 0>{})), 0x726FDB47DD0E0E31U);
  EXPECT_EQ((siphash<2, 4>(kPaperKey, std::array{kFirst})), 0x93F5F5799A932462U);
  EXPECT_EQ((siphash<2, 4>(kPaperKey, std::array{kFirst, kSecond})), 0x3F2ACC7F57C29BDBU);
}

TEST(SipHash, DependsOnKeyAndEveryWord) {
  const std::array<std::uint64_t, 3> words{1, 2, 3};
  const std::uint64_t hash = siphash<1, 3>(kPaperKey, words);
  EXPECT_NE(hash, (siphash<1, 3>(SipHashKey{kPaperKey.low ^ 1, kPaperKey.high}, words)));
  EXPECT_NE(hash, (siphash<1, 3>(SipHashKey{kPaperKey.low, kPaperKey.high ^ 1}, words)));
  for (std::size_t i = 0; i < 3; ++i) {
    auto changed = words;
    changed[i] ^= std::uint64_t{1} << 63;
    EXPECT_NE(hash, (siphash<1, 3>(kPaperKey, changed)));
  }
  const SipHashKey first = random_siphash_key(), second = random_siphash_key();
  EXPECT_TRUE(first.low != second.low && first.high != second.high);
}

TEST(FragmentIdentification, RepeatsNothing) {
  constexpr std::uint16_t kWorkers = 3;
  const Ipv6Address source{1, 2}, destination{3, 4};
  std::set<std::uint32_t> seen;
  for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
    FragmentIdentification identification(kPaperKey, worker, kWorkers);
    for (int i = 0; i < 10000; ++i) EXPECT_TRUE(seen.insert(identification.next(source, destination)).second);
  }
}

TEST(FragmentIdentification, DependsOnAddressesAndKey) {
  const auto first = [](const SipHashKey& key, const Ipv6Address& source, const Ipv6Address& destination) {
    return FragmentIdentification(key, 0, 1).next(source, destination);
  };
  const std::uint32_t one = first(kPaperKey, {1, 2}, {3, 4});
  EXPECT_NE(one, first(kPaperKey, {1, 3}, {3, 4}));
  EXPECT_NE(one, first(kPaperKey, {1, 2}, {3, 5}));
  EXPECT_NE(one, first(kPaperKey, {3, 4}, {1, 2}));
  EXPECT_NE(one, first({1, 2}, {1, 2}, {3, 4}));
}

}  // namespace
}  // namespace penumbra
