// SPDX-License-Identifier: Apache-2.0
//
// Lookups during changes of an IPv6 table.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "engines/conformance.h"
#include "ipv6_oracle.h"
#include "tables/churn_script.h"

namespace penumbra {
namespace {

constexpr std::size_t kRounds = kSanitizerScale == 1 ? 10 : 3;
constexpr std::size_t kChangesPerRound = 60'000 / kSanitizerScale / kRounds;
constexpr std::size_t kPrefixes = 6'000;

/// Half of the prefixes are deeply nested, and the other half resembles Internet tables.
std::vector<Ipv6Prefix> any_prefixes(Random& random) {
  std::vector<Ipv6Prefix> prefixes = ipv6_oracle::nested_prefixes(kPrefixes / 2, random);
  // Changing a prefix that covers a large part of a table's root takes milliseconds.
  std::erase_if(prefixes, [](Ipv6Prefix prefix) { return prefix.length < 12; });
  prefixes.push_back({});
  for (std::size_t i = 0; i < kPrefixes / 2; ++i) {
    const Ipv6Address bits{std::uint64_t{0x2A0C} << 48 | random.next() >> 22 << 10, 0};
    prefixes.push_back(Ipv6Prefix::around(bits, 26 + random.below(39)));
  }
  return prefixes;
}

class Ipv6Churn : public testing::TestWithParam<std::string> {};

TEST_P(Ipv6Churn, NeverShowsReadersAnAnswerThatWasNotRight) {
  Random random(5);
  std::vector<Ipv6Prefix> pool = any_prefixes(random);
  std::vector<Ipv6Address> addresses;
  for (int i = 0; i < 400; ++i) {
    ipv6_oracle::add_probes(pool[random.below(static_cast<std::uint32_t>(pool.size()))], random, addresses);
  }
  const churn::Script<Ipv6Entry, ipv6_oracle::Oracle> script(std::move(pool), std::move(addresses),
                                                             Ipv6Lookup::kNoRoute, kRounds, kChangesPerRound);
  QuiescentStates states(churn::kReaders);
  const std::unique_ptr<Ipv6Lookup> table = ipv6_oracle::make_table(states);
  conformance::ShaderRun run(GetParam(), table->shader_name(), table->table());
  const auto apply = [&](std::size_t number) { script.apply(number, *table); };
  EXPECT_EQ(churn::wrong_answers(run, ipv6_oracle::columns(script.addresses()), script.answers(), states, script.size(),
                                 kChangesPerRound, apply),
            0U);
}

PENUMBRA_FOR_EACH_ENGINE(Ipv6Churn);

}  // namespace
}  // namespace penumbra
