// SPDX-License-Identifier: Apache-2.0
//
// Compares sets of ranges with sets of bits.
#include "functions/ids/rules/range_set.h"

#include <gtest/gtest.h>

#include <bitset>
#include <cstdint>
#include <random>

namespace penumbra::ids {
namespace {

using Bits = std::bitset<256>;
using Set = RangeSet<std::uint8_t>;

struct Pair {
  Set set;
  Bits bits;
};

void expect_equal(const Set& set, const Bits& bits) {
  for (unsigned value = 0; value < 256; ++value) {
    ASSERT_EQ(set.contains(static_cast<std::uint8_t>(value)), bits[value]) << value;
  }
  for (std::size_t i = 1; i < set.ranges().size(); ++i) {
    ASSERT_GT(set.ranges()[i].low, set.ranges()[i - 1].high + 1) << "ranges touch";
  }
  ASSERT_EQ(set.empty(), bits.none());
  ASSERT_EQ(set.is_all(), bits.all());
}

TEST(RangeSet, HasTheMembersOfSetsOfBits) {
  std::mt19937 random(1);
  const auto number = [&random](unsigned most) { return std::uniform_int_distribution<unsigned>(0, most)(random); };
  for (int round = 0; round < 500; ++round) {
    std::vector<Pair> made{{Set{}, Bits{}}, {Set::all(), Bits{}.set()}};
    for (int i = 0; i < 12; ++i) {
      const Pair a = made[number(static_cast<unsigned>(made.size() - 1))];
      const Pair b = made[number(static_cast<unsigned>(made.size() - 1))];
      switch (number(3)) {
        case 0:
          made.push_back({a.set | b.set, a.bits | b.bits});
          break;
        case 1:
          made.push_back({a.set - b.set, a.bits & ~b.bits});
          break;
        case 2:
          made.push_back({a.set.complement(), ~a.bits});
          break;
        default: {
          const unsigned low = number(255), high = low + number(255 - low);
          Bits bits;
          for (unsigned value = low; value <= high; ++value) bits.set(value);
          made.push_back({Set::of(static_cast<std::uint8_t>(low), static_cast<std::uint8_t>(high)), bits});
        }
      }
      expect_equal(made.back().set, made.back().bits);
    }
  }
}

}  // namespace
}  // namespace penumbra::ids
