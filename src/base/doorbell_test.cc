// SPDX-License-Identifier: Apache-2.0
#include "base/doorbell.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <atomic>
#include <thread>

namespace penumbra {
namespace {

class DoorbellTest : public testing::Test {
 protected:
  /// Returns true if the doorbell rings within `milliseconds`.
  bool rings(int milliseconds) {
    epoll_event event{};
    return epoll_wait(epoll_.get(), &event, 1, milliseconds) == 1;
  }

  FileDescriptor epoll_{epoll_create1(EPOLL_CLOEXEC)};
  Doorbell doorbell_;
};

TEST_F(DoorbellTest, IsHeardByWhoListensOnly) {
  doorbell_.join(epoll_);
  doorbell_.ring();
  EXPECT_FALSE(rings(0));
  doorbell_.listen();
  doorbell_.ignore();
  doorbell_.ring();
  EXPECT_FALSE(rings(0));
  for (int i = 0; i < 3; ++i) {
    doorbell_.listen();
    doorbell_.ring();
    doorbell_.ring();
    EXPECT_TRUE(rings(0));
    EXPECT_FALSE(rings(0)) << "a ring is heard once";
  }
}

/// The worker rings once and waits until the ring was heard, so a later ring cannot hide a missed one.
TEST_F(DoorbellTest, LetsNobodySleepOverWork) {
  constexpr int kRings = 20'000;
  constexpr int kPatience = 20'000;  // Milliseconds.
  doorbell_.join(epoll_);
  std::atomic<int> given{0}, taken{0};
  bool missed = false;
  std::thread sleeper([&] {
    while (taken < kRings && !missed) {
      doorbell_.listen();
      if (given == taken) missed = !rings(kPatience);
      doorbell_.ignore();
      taken = given.load();
    }
    taken = kRings;
  });
  for (int i = 1; i <= kRings; ++i) {
    given = i;
    doorbell_.ring();
    while (taken < i) std::this_thread::yield();
  }
  sleeper.join();
  EXPECT_FALSE(missed);
}

}  // namespace
}  // namespace penumbra
