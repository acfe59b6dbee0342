// SPDX-License-Identifier: Apache-2.0
//
// Lookups during changes of an IPv4 table.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dir24_8.h"
#include "dir24_8_oracle.h"
#include "engines/conformance.h"
#include "tables/churn_script.h"

namespace penumbra::dir24_8_oracle {

/// Expects that readers never see a wrong answer while `table` changes. `engine` runs the shader of `looked_up`, a
/// table that follows `table`. `states` are the grace periods of `table`.
inline void expect_right_answers_under_churn(const std::string& engine, Dir24_8& table, Table& looked_up,
                                             QuiescentStates& states) {
  constexpr std::uint32_t kRegion = 0x0A000000;  // 10.0.0.0/12, a small region so that prefixes overlap
  constexpr unsigned kRegionLength = 12;
  constexpr std::size_t kRounds = kSanitizerScale == 1 ? 10 : 3;
  constexpr std::size_t kChangesPerRound = 1'000'000 / kSanitizerScale / kRounds;

  Random random(5);
  const auto any_address = [&random] {
    return kRegion | static_cast<std::uint32_t>(random.next() >> (32 + kRegionLength));
  };
  // Each length from 4 to 32. Short prefixes are few, as in real tables.
  std::vector<Ipv4Prefix> pool;
  for (unsigned length = 4; length <= 32; ++length) {
    const std::size_t most = length < 24 ? 400 : length == 24 ? 3'000 : 1'500;
    const std::size_t all = length <= kRegionLength ? 1 : std::size_t{1} << (length - kRegionLength);
    for (std::size_t i = 0; i < std::min(all, most); ++i) pool.push_back(prefix_of(any_address(), length));
  }
  std::vector<Ipv4Address> addresses;
  for (int i = 0; i < 400; ++i) {
    const Ipv4Prefix prefix = pool[random.below(static_cast<std::uint32_t>(pool.size()))];
    const std::uint32_t first = prefix.address.value, last = prefix.last().value;
    for (const std::uint32_t each : {first, last, first - 1, last + 1, any_address()}) addresses.push_back({each});
  }
  const churn::Script<Dir24_8::Entry, Oracle> script(std::move(pool), std::move(addresses), Dir24_8::kNoRoute, kRounds,
                                                     kChangesPerRound);

  std::vector<std::uint32_t> column;
  for (const Ipv4Address address : script.addresses()) column.push_back(address.value);
  conformance::ShaderRun run(engine, looked_up.name(), looked_up);
  const auto apply = [&](std::size_t number) { script.apply(number, table); };
  EXPECT_EQ(churn::wrong_answers(run, column, script.answers(), states, script.size(), kChangesPerRound, apply), 0U);
}

}  // namespace penumbra::dir24_8_oracle
