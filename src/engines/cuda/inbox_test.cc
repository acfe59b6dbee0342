// SPDX-License-Identifier: Apache-2.0
//
// Tests the data structures that workers and launch thread share: the inbox, and the ring of the staging memory.
#include "cuda/inbox.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/staging.h"

namespace penumbra::cuda {
namespace {

TEST(Inbox, GivesBackInOrderAndSaysWhenItIsFull) {
  Inbox<int> inbox(4);
  std::array<int, 6> items{};
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(inbox.empty());
    EXPECT_EQ(inbox.take(), nullptr);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(inbox.put(&items[i]));
    EXPECT_FALSE(inbox.put(&items[4]));
    EXPECT_EQ(inbox.take(), items.data());
    EXPECT_TRUE(inbox.put(&items[4]));
    for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(inbox.take(), &items[i]);
  }
}

TEST(Inbox, LosesNothingFromManyAndKeepsEachOnesOrder) {
  constexpr int kSenders = 3, kEach = 20'000;
  struct Item {
    int sender = 0, number = 0;
  };
  Inbox<Item> inbox(64);
  std::vector<std::vector<Item>> items(kSenders, std::vector<Item>(kEach));
  std::vector<std::thread> senders;
  senders.reserve(kSenders);
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&, sender] {
      for (int i = 0; i < kEach; ++i) {
        Item& item = items[static_cast<std::size_t>(sender)][static_cast<std::size_t>(i)];
        item = {sender, i};
        while (!inbox.put(&item)) std::this_thread::yield();
      }
    });
  }
  std::array<int, kSenders> next{};
  for (int taken = 0; taken < kSenders * kEach;) {
    const Item* const item = inbox.take();
    if (item == nullptr) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(item->number, next.at(static_cast<std::size_t>(item->sender))++);
    ++taken;
  }
  for (auto& sender : senders) sender.join();
  EXPECT_TRUE(inbox.empty());
}

TEST(ByteRing, GivesPlacesThatDoNotOverlapAndTakesAllBack) {
  constexpr std::size_t kBytes = 1000;
  ByteRing ring(kBytes);
  std::mt19937 random(1);
  std::deque<std::pair<std::size_t, std::size_t>> given;  // Pairs of place and bytes.
  std::size_t wraps = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::size_t bytes = 1 + random() % (i % 50 == 0 ? kBytes : 200);
    const std::size_t place = ring.take(bytes);
    if (place == ByteRing::kNone) {
      ASSERT_FALSE(given.empty()) << "an empty ring has room for all that fits";
      ring.give_back(given.front().first, given.front().second);
      given.pop_front();
      continue;
    }
    ASSERT_LE(place + bytes, kBytes);
    for (const auto& [other, length] : given) ASSERT_TRUE(place + bytes <= other || other + length <= place);
    if (random() % 10 == 0) {
      ring.undo();
    } else {
      wraps += !given.empty() && place < given.back().first ? 1 : 0;
      given.emplace_back(place, bytes);
    }
  }
  EXPECT_GT(wraps, 100U);
  for (; !given.empty(); given.pop_front()) ring.give_back(given.front().first, given.front().second);
  EXPECT_EQ(ring.take(kBytes), 0U);
}

}  // namespace
}  // namespace penumbra::cuda
