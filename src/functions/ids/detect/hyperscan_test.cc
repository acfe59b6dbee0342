// SPDX-License-Identifier: Apache-2.0
//
// Compares Hyperscan with the automaton, which patterns_test.cc compares with a plain search.
#include "functions/ids/detect/hyperscan.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "tables/patterns/patterns.h"

namespace penumbra::ids {
namespace {

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(Hyperscan, FindsWhatTheAutomatonFinds) {
  if (const std::string lack = Hyperscan::why_unavailable(); !lack.empty()) GTEST_SKIP() << lack;
  std::mt19937 random(7);
  for (const unsigned alphabet : {3U, 8U, 256U}) {
    const auto text = [&](std::size_t least, std::size_t most) {
      std::string made(least + random() % (most - least + 1), ' ');
      for (char& letter : made) {
        letter = static_cast<char>(alphabet == 256 ? random() % 256 : "aAb\\.\0+z"[random() % alphabet]);
      }
      return made;
    };
    for (int round = 0; round < 10; ++round) {
      std::vector<std::string> patterns(60);
      for (std::string& pattern : patterns) pattern = text(3, 9);
      const Patterns automaton(patterns);
      const Hyperscan hyperscan(patterns);
      const auto scratch = hyperscan.make_scratch();
      for (int i = 0; i < 40; ++i) {
        const std::string payload = text(0, 200) + patterns[random() % patterns.size()] + text(0, 40);
        std::set<std::uint32_t> right;
        automaton.search(bytes_of(payload), [&](std::uint32_t set) {
          const auto members = automaton.patterns_of(set);
          right.insert(members.begin(), members.end());
        });
        ASSERT_TRUE(hyperscan.search(bytes_of(payload), *scratch));
        ASSERT_EQ(std::set<std::uint32_t>(scratch->found().begin(), scratch->found().end()), right);
        ASSERT_EQ(scratch->found().size(), right.size()) << "each once";
      }
    }
  }
}

/// Runs of a letter, on which the interface for literals fails.
TEST(Hyperscan, FindsRunsOfOneLetter) {
  if (const std::string lack = Hyperscan::why_unavailable(); !lack.empty()) GTEST_SKIP() << lack;
  const std::vector<std::string> patterns{"aaaaaaaa", "tvqqaamaaaaeaaaa", "hpcybwcm9n"};
  const Hyperscan hyperscan(patterns);
  const auto scratch = hyperscan.make_scratch();
  ASSERT_TRUE(hyperscan.search(bytes_of("TVqQAAMAAAAEAAAA//8AALgA" + std::string(3000, 'A') + "hpcyBwcm9n"), *scratch));
  EXPECT_EQ(scratch->found().size(), 3U);
}

}  // namespace
}  // namespace penumbra::ids
