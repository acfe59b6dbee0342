// SPDX-License-Identifier: Apache-2.0
//
// Lookups during changes of an IPv6 table.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "ipv6_testing.h"
#include "tables/churn_script.h"

namespace penumbra {
namespace {

constexpr std::size_t kPrefixes = 6'000;
constexpr unsigned kLeastLength = kSanitizerScale == 1 ? 12 : 16;

/// Half of the prefixes are deeply nested, and the other half resembles Internet tables.
std::vector<Ipv6Prefix> any_prefixes() {
  Random random(5);
  std::vector<Ipv6Prefix> prefixes = ipv6_testing::nested_prefixes(kPrefixes / 2, random);
  // Changing a prefix that covers a large part of a table's root takes milliseconds.
  std::erase_if(prefixes, [](Ipv6Prefix prefix) { return prefix.length < kLeastLength; });
  prefixes.push_back({});
  for (std::size_t i = 0; i < kPrefixes / 2; ++i) {
    const Ipv6Address bits{std::uint64_t{0x2A0C} << 48 | random.next() >> 22 << 10, 0};
    prefixes.push_back(Ipv6Prefix::around(bits, 26 + random.below(39)));
  }
  return prefixes;
}

class Ipv6Churn : public testing::TestWithParam<std::string> {};

TEST_P(Ipv6Churn, NeverShowsReadersAnAnswerThatWasNotRight) {
  QuiescentStates states(churn::kReaders);
  const std::unique_ptr<Ipv6Lookup> table = ipv6_testing::make_table(states);
  churn::expect_right_answers<Ipv6>(GetParam(), any_prefixes(), 60'000, *table, table->table(), states);
}

PENUMBRA_FOR_EACH_ENGINE(Ipv6Churn);

}  // namespace
}  // namespace penumbra
