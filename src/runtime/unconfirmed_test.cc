// SPDX-License-Identifier: Apache-2.0
#include "runtime/unconfirmed.h"

#include <gtest/gtest.h>

namespace penumbra::runtime {
namespace {

using std::chrono::microseconds;

/// Lets several threads make, confirm and undo changes while deadlines pass.
class UnconfirmedThreads : public testing::Test {
 protected:
  void add(std::optional<std::chrono::nanoseconds> time) {
    const std::lock_guard lock(mutex_);
    if (stopped_ || (!time && !unconfirmed_.left())) return;
    ++waiting_;
    unconfirmed_.add(
        [this] {
          EXPECT_FALSE(stopped_);
          --waiting_;
        },
        time);
  }
  void confirm() {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(unconfirmed_.confirm(), waiting_ > 0);
    waiting_ = 0;
  }
  void roll_back() {
    const std::lock_guard lock(mutex_);
    const unsigned waited = waiting_;
    EXPECT_EQ(unconfirmed_.roll_back(), waited);
    EXPECT_EQ(waiting_, 0U);
  }
  void look() {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(unconfirmed_.left().has_value(), waiting_ > 0);
  }

  std::mutex mutex_;
  unsigned waiting_ = 0;  ///< changes that are neither confirmed nor undone
  bool stopped_ = false;
  std::atomic<unsigned> logged_{0};
  Unconfirmed unconfirmed_{mutex_, [this](const std::string&) { ++logged_; }};
};

TEST_F(UnconfirmedThreads, EachChangeIsConfirmedOrTakenBackOnce) {
  constexpr unsigned kTimes = 500;
  std::vector<std::jthread> threads;
  threads.emplace_back([this] {
    for (unsigned i = 0; i < kTimes; ++i) add(microseconds(100 + i % 7 * 100));
  });
  threads.emplace_back([this] {
    for (unsigned i = 0; i < kTimes; ++i) {
      add(std::nullopt);
      look();
      std::this_thread::sleep_for(microseconds(50));
    }
  });
  threads.emplace_back([this] {
    for (unsigned i = 0; i < kTimes; ++i) {
      i % 2 == 0 ? confirm() : roll_back();
      std::this_thread::sleep_for(microseconds(300));
    }
  });
  threads.clear();
  add(microseconds(1));
  bool is_back = false;
  while (!is_back) {
    const std::lock_guard lock(mutex_);
    is_back = waiting_ == 0;
  }
  EXPECT_GT(logged_, 0U);
}

/// The deadline moves while the thread waits for it.
TEST_F(UnconfirmedThreads, ALaterChangeMovesTheDeadline) {
  for (unsigned i = 0; i < 200; ++i) {
    add(std::chrono::hours(1 + i));
    std::this_thread::yield();
  }
  look();
  EXPECT_EQ(logged_, 0U);
  add(microseconds(1));
  while (logged_ == 0) std::this_thread::yield();
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(waiting_, 0U);
}

TEST_F(UnconfirmedThreads, NothingIsTakenBackAfterTheEnd) {
  std::jthread changer([this] {
    for (unsigned i = 0; i < 200; ++i) add(microseconds(i));
  });
  std::this_thread::sleep_for(microseconds(200));
  {
    const std::lock_guard lock(mutex_);
    unconfirmed_.confirm();
    stopped_ = true;
  }
  unconfirmed_.stop();
  changer.join();
  const std::lock_guard lock(mutex_);
  EXPECT_FALSE(unconfirmed_.left());
}

}  // namespace
}  // namespace penumbra::runtime
