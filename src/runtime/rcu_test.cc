// SPDX-License-Identifier: Apache-2.0
#include "runtime/rcu.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace penumbra::runtime {
namespace {

TEST(GracePeriods, ElapseAtOnceWithoutReaders) {
  QsbrGracePeriods periods(3);
  EXPECT_TRUE(periods.elapsed(periods.start(), false));
  EXPECT_TRUE(periods.elapsed(periods.start(), true));
}

TEST(GracePeriods, LastUntilEveryReaderWasQuiescent) {
  QsbrGracePeriods periods(2);
  QsbrGracePeriods::Reader first(periods, 0), second(periods, 1);
  const auto token = periods.start();
  EXPECT_FALSE(periods.elapsed(token, false));
  first.quiescent();
  EXPECT_FALSE(periods.elapsed(token, false));
  first.quiescent();
  EXPECT_FALSE(periods.elapsed(token, false));
  second.quiescent();
  EXPECT_TRUE(periods.elapsed(token, false));
  EXPECT_FALSE(periods.elapsed(periods.start(), false));
}

TEST(GracePeriods, DoNotWaitForReadersThatLeave) {
  QsbrGracePeriods periods(2);
  auto first = std::make_unique<QsbrGracePeriods::Reader>(periods, 0);
  const auto token = periods.start();
  EXPECT_FALSE(periods.elapsed(token, false));
  first.reset();
  EXPECT_TRUE(periods.elapsed(token, false));
  const QsbrGracePeriods::Reader again(periods, 0);
  EXPECT_TRUE(periods.elapsed(token, false));
}

/// A writer replaces an object that readers use and frees the old one after a grace period. No reader may see a freed
/// object.
TEST(GracePeriods, KeepWhatReadersHold) {
  constexpr unsigned kReaders = 3, kRounds = 300;
  struct Object {
    std::atomic<bool> alive{true};
  };
  QsbrGracePeriods periods(kReaders);
  std::vector<std::unique_ptr<Object>> objects;
  for (unsigned i = 0; i <= kRounds; ++i) objects.push_back(std::make_unique<Object>());
  std::atomic<Object*> current{objects[0].get()};
  std::atomic<bool> end{false};
  std::atomic<unsigned> dead{0}, online{0};
  {
    std::vector<std::jthread> readers;
    readers.reserve(kReaders);
    for (unsigned i = 0; i < kReaders; ++i) {
      readers.emplace_back([&, i] {
        QsbrGracePeriods::Reader reader(periods, i);
        ++online;
        while (!end.load(std::memory_order_relaxed)) {
          const Object* object = current.load(std::memory_order_acquire);
          for (int look = 0; look < 50; ++look) {
            if (!object->alive.load(std::memory_order_relaxed)) dead.fetch_add(1);
          }
          reader.quiescent();
        }
      });
    }
    while (online.load() < kReaders) std::this_thread::yield();
    for (unsigned round = 1; round <= kRounds; ++round) {
      current.store(objects[round].get(), std::memory_order_release);
      periods.elapsed(periods.start(), true);
      objects[round - 1]->alive.store(false, std::memory_order_relaxed);
    }
    end.store(true);
  }
  EXPECT_EQ(dead.load(), 0U);
}

}  // namespace
}  // namespace penumbra::runtime
