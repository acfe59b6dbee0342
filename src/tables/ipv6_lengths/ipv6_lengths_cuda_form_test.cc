// SPDX-License-Identifier: Apache-2.0
//
// The CUDA form of the search on prefix lengths, run on host threads and compared with the definition of longest-prefix
// match.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tables/cuda_on_cpu.h"
#include "tables/ipv6/ipv6_testing.h"
#include "tables/ipv6_lengths/ipv6_lengths.cuda.h"
#include "tables/ipv6_lengths/ipv6_lengths.h"

namespace penumbra {
namespace {

TEST(Ipv6LengthsForCuda, FindTheLongestPrefix) {
  constexpr std::size_t kPrefixes = 4000;
  constexpr std::uint16_t kUntouched = 0x1234;
  NoReaders no_readers;
  Ipv6Lengths table(no_readers);
  ipv6_testing::Oracle oracle;
  Random random(2);
  std::vector<Ipv6Address> probes;
  for (const Ipv6Prefix& prefix : ipv6_testing::nested_prefixes(kPrefixes, random)) {
    const auto next_hop = static_cast<std::uint16_t>(random.below(30'000));
    table.insert(prefix, next_hop);
    oracle.insert({prefix, next_hop});
    prefix_testing::add_probes(prefix, random, probes);
  }
  table.commit();
  const auto& view = *static_cast<const ipv6_lengths_view*>(table.table().view());
  const std::vector<ipv6_address> asked = prefix_testing::columns(probes);
  for (const std::uint32_t count : {0U, 1U, 63U, 64U, 65U, static_cast<std::uint32_t>(asked.size())}) {
    std::vector<std::uint16_t> right(count), found(count + 1, kUntouched);
    std::transform(probes.begin(), probes.begin() + count, right.begin(),
                   [&oracle](Ipv6Address address) { return oracle.next_hop(address); });
    cuda_on_cpu::launch(2, 32, [&] { ipv6_lengths::lookup_by_whole_slots(view, asked.data(), found.data(), count); });
    EXPECT_EQ(found.back(), kUntouched);
    found.pop_back();
    EXPECT_EQ(found, right) << count;
  }
}

}  // namespace
}  // namespace penumbra
