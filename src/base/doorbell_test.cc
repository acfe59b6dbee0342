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
  /// Whether it rang within so many milliseconds.
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

TEST_F(DoorbellTest, LetsNobodySleepOverWork) {
  constexpr int kRings = 2'000;
  constexpr int kLongerThanTheTest = 600'000;
  doorbell_.join(epoll_);
  std::atomic<int> given{0};
  std::thread sleeper([&] {
    for (int seen = 0; seen < kRings; seen = given) {
      doorbell_.listen();
      if (given == seen) {
        EXPECT_TRUE(rings(kLongerThanTheTest));
      }
      doorbell_.ignore();
    }
  });
  for (int i = 0; i < kRings; ++i) {
    ++given;
    doorbell_.ring();
    if (i % 16 == 0) std::this_thread::yield();
  }
  sleeper.join();
}

}  // namespace
}  // namespace penumbra
