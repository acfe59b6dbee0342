// SPDX-License-Identifier: Apache-2.0
#include "io/symmetric_rss.h"

#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_thash.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

namespace penumbra::io::test {
namespace {

constexpr std::size_t kIpv4Words = 3, kIpv6Words = 9;  // two addresses and a word with both ports

/// Exchanges the addresses and the ports of a tuple.
template <std::size_t kWords>
std::array<std::uint32_t, kWords> reversed(const std::array<std::uint32_t, kWords>& tuple) {
  constexpr std::size_t kAddress = (kWords - 1) / 2;
  auto result = tuple;
  std::swap_ranges(result.begin(), result.begin() + kAddress, result.begin() + kAddress);
  result.back() = tuple.back() << 16U | tuple.back() >> 16U;
  return result;
}

template <std::size_t kWords>
void expect_symmetric(std::vector<std::uint8_t> key) {
  std::mt19937 random(kWords);
  std::array<std::uint32_t, 4> of_queue{};
  for (int i = 0; i < 1000; ++i) {
    std::array<std::uint32_t, kWords> there;
    std::ranges::generate(there, std::ref(random));
    auto back = reversed(there);
    const std::uint32_t hash = rte_softrss(there.data(), there.size(), key.data());
    ASSERT_EQ(hash, rte_softrss(back.data(), back.size(), key.data()));
    ++of_queue[hash % of_queue.size()];
  }
  for (const std::uint32_t flows : of_queue) EXPECT_GT(flows, 180U);
}

TEST(SymmetricRss, HashesBothDirectionsAlikeAndSpreadsFlows) {
  for (const std::uint8_t size : {40, 52}) {
    rte_eth_dev_info info{};
    info.hash_key_size = size;
    const std::vector<std::uint8_t> key = symmetric_key(info);
    ASSERT_EQ(key.size(), size);
    expect_symmetric<kIpv4Words>(key);
    expect_symmetric<kIpv6Words>(key);
  }
}

TEST(SymmetricRss, TakesTheUsualSizeIfTheDeviceTellsNone) {
  EXPECT_EQ(symmetric_key(rte_eth_dev_info{}).size(), 40U);
}

}  // namespace
}  // namespace penumbra::io::test
