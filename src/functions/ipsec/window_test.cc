// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "base/random.h"

namespace penumbra::ipsec {
namespace {

/// Remembers all numbers of the window in a set.
class Model {
 public:
  explicit Model(std::uint64_t packets) : packets_(packets) {}
  Replayed check(std::uint64_t number) const {
    if (packets_ == 0) return Replayed::no;
    if (number == 0 || (number <= top_ && top_ - number >= packets_)) return Replayed::late;
    return seen_.contains(number) ? Replayed::yes : Replayed::no;
  }
  Replayed record(std::uint64_t number) {
    const Replayed result = check(number);
    if (result != Replayed::no) return result;
    top_ = std::max(top_, number);
    if (packets_ == 0) return result;
    seen_.insert(number);
    if (top_ >= packets_) seen_.erase(seen_.begin(), seen_.upper_bound(top_ - packets_));
    return result;
  }
  std::uint64_t top() const { return top_; }
  const std::set<std::uint64_t>& seen() const { return seen_; }

 private:
  std::uint64_t packets_, top_ = 0;
  std::set<std::uint64_t> seen_;
};

std::uint64_t below(Random& random, std::uint64_t bound) {
  return random.next() % bound;
}

/// Returns a number near `top`, rarely far above it.
std::uint64_t next_number(Random& random, std::uint64_t top, std::uint64_t packets) {
  const std::uint64_t kind = random.below(100);
  if (kind < 45) return top + 1 + random.below(3);
  if (kind < 90) return top - std::min(top, below(random, packets + packets / 8 + 4));
  if (kind < 97) return top + below(random, 2 * packets + 40);
  if (kind < 99) return top + below(random, std::uint64_t{1} << 20);
  return below(random, top + 2);
}

class ReplayWindowOf : public testing::TestWithParam<std::uint32_t> {};

TEST_P(ReplayWindowOf, EqualsASetOverTheWrap) {
  const std::uint32_t packets = GetParam();
  for (const std::uint64_t start :
       {std::uint64_t{0}, (std::uint64_t{1} << 32) - 3000, (std::uint64_t{1} << 40) - 500}) {
    Random random(packets + start);
    ReplayWindow window(packets);
    Model model(packets);
    if (start != 0) {
      ASSERT_EQ(window.record(start), Replayed::no);
      model.record(start);
    }
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t number = next_number(random, model.top(), packets);
      ASSERT_EQ(window.check(number), model.check(number)) << number << " top " << model.top();
      if (random.below(8) == 0) continue;  // A wrong tag: the window does not move.
      ASSERT_EQ(window.record(number), model.record(number)) << number << " top " << model.top();
      ASSERT_EQ(window.top(), model.top());
    }
  }
}

TEST_P(ReplayWindowOf, SurvivesASaveAsXfrmStoresIt) {
  const std::uint32_t packets = GetParam();
  for (const bool is_ring : {true, false}) {
    Random random(packets);
    ReplayWindow window(packets);
    Model model(packets);
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t number = next_number(random, model.top(), packets);
      window.record(number);
      model.record(number);
    }
    const std::uint32_t words = is_ring ? (packets + 31) / 32 : 1;
    ReplayWindow loaded(packets);
    loaded.load(window.top(), window.bitmap(words, is_ring), is_ring);
    ASSERT_EQ(loaded.top(), model.top());
    const std::uint64_t known = is_ring ? packets : std::min(packets, 32U);
    for (std::uint64_t age = 0; age < known && age < model.top(); ++age) {
      ASSERT_EQ(loaded.check(model.top() - age), model.check(model.top() - age)) << age;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ReplayWindowOf, testing::Values(0, 1, 32, 33, 64, 128, 1000, 1024, 4096));

TEST(ReplayWindow, AcceptsANumberOnceFromManyThreads) {
  constexpr std::uint64_t kNumbers = 40'000;
  ReplayWindow window(4096);
  std::vector<std::uint32_t> accepted(kNumbers);
  std::vector<std::jthread> threads;
  threads.reserve(3);
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t number = 1; number < kNumbers; ++number) {
        if (window.record(number) == Replayed::no) __atomic_fetch_add(&accepted[number], 1, __ATOMIC_RELAXED);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(std::ranges::count_if(accepted, [](std::uint32_t count) { return count > 1; }), 0);
  EXPECT_EQ(window.top(), kNumbers - 1);
}

TEST(RecoverNumber, FindsTheHalfThatTheWindowDecides) {
  for (const std::uint32_t packets : {1U, 32U, 64U, 4096U}) {
    Random random(packets);
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t top = random.below(2) == 0
                                    ? below(random, std::uint64_t{5} << 32)
                                    : (below(random, 4) << 32) + below(random, std::uint64_t{2} * packets);
      // Every number of the window, and most of 2^32 numbers above its begin, are recovered.
      const std::uint64_t bottom = top >= packets ? top - packets + 1 : 0;
      const std::uint64_t number = random.below(2) == 0 ? bottom + below(random, packets)
                                                        : bottom + below(random, (std::uint64_t{1} << 32) - packets);
      ASSERT_EQ(recover_number(static_cast<std::uint32_t>(number), top, packets), number) << top << " " << packets;
    }
  }
  EXPECT_EQ(recover_number(0xFFFFFFFF, 5, 64), std::nullopt) << "lies before number 0";
}

}  // namespace
}  // namespace penumbra::ipsec
