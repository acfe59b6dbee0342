// SPDX-License-Identifier: Apache-2.0
#include "runtime/idle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace penumbra::runtime {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr double kMegahertz = 1e6;  // A tick is a microsecond.

/// Returns the sleeps that a policy gives in succession from `now` on, while only the sleeps advance the clock.
std::vector<nanoseconds> rests(IdlePolicy& policy, std::uint64_t& now, std::size_t count) {
  std::vector<nanoseconds> given;
  for (std::size_t i = 0; i < count; ++i) {
    given.push_back(policy.rest(now));
    now += static_cast<std::uint64_t>(std::chrono::duration_cast<microseconds>(given.back()).count());
  }
  return given;
}

TEST(IdlePolicy, LooksAgainForAWhileBeforeItSleeps) {
  IdlePolicy policy(microseconds(250), kMegahertz);
  for (std::uint64_t now = 1000; now < 1050; ++now) EXPECT_EQ(policy.rest(now), nanoseconds(0)) << now;
  EXPECT_EQ(policy.rest(1050), microseconds(10));
}

TEST(IdlePolicy, SleepsTwiceAsLongEachTimeUpToTheBound) {
  IdlePolicy policy(microseconds(250), kMegahertz);
  std::uint64_t now = 7;
  policy.rest(now);
  now += 50;
  EXPECT_THAT(rests(policy, now, 8),
              testing::ElementsAre(microseconds(10), microseconds(20), microseconds(40), microseconds(80),
                                   microseconds(160), microseconds(250), microseconds(250), microseconds(250)));
}

TEST(IdlePolicy, BeginsAnewAfterWork) {
  IdlePolicy policy(microseconds(100), kMegahertz);
  std::uint64_t now = 0;
  policy.rest(now);
  now = 60;
  rests(policy, now, 20);
  policy.worked();
  EXPECT_EQ(policy.rest(now), nanoseconds(0));
  EXPECT_EQ(policy.rest(now + 49), nanoseconds(0));
  EXPECT_EQ(policy.rest(now + 50), microseconds(10));
}

TEST(IdlePolicy, NeverSleepsIfItMustNot) {
  IdlePolicy policy(nanoseconds(0), kMegahertz);
  for (std::uint64_t now = 0; now < 1'000'000; now += 999) EXPECT_EQ(policy.rest(now), nanoseconds(0));
}

TEST(IdlePolicy, KeepsABoundBelowItsFirstSleep) {
  IdlePolicy policy(microseconds(3), kMegahertz);
  policy.rest(0);
  EXPECT_EQ(policy.rest(1000), microseconds(3));
  EXPECT_EQ(policy.rest(2000), microseconds(3));
}

/// Implements a queue that may raise an interrupt.
class TestQueue final : public io::RxQueue {
 public:
  explicit TestQueue(bool interrupts) : event_(interrupts ? eventfd(0, EFD_CLOEXEC) : -1) {}
  ~TestQueue() override {
    if (event_ >= 0) ::close(event_);
  }
  std::uint16_t receive(rte_mbuf** /*packets*/, std::uint16_t /*capacity*/) noexcept override { return 0; }
  void drain() noexcept override {}
  bool exhausted() const noexcept override { return false; }
  std::vector<int> interrupts() const override { return event_ < 0 ? std::vector<int>{} : std::vector{event_}; }
  void arm(bool on) noexcept override {
    armed_ = on;
    ++switched_;
  }
  void raise() const { eventfd_write(event_, 1); }
  bool armed() const { return armed_; }
  unsigned switched() const { return switched_; }

 private:
  int event_;
  std::atomic<bool> armed_{false};
  std::atomic<unsigned> switched_{0};
};

/// Rests until the worker has slept `sleeps` times.
void rest_until_slept(Idle& idle, QsbrGracePeriods::Reader& reader, const SleepCounters& counters,
                      std::uint64_t sleeps) {
  while (counters.sleeps.get() < sleeps) idle.rest(reader, std::chrono::nanoseconds::max());
}

TEST(Idle, CountsItsSleeps) {
  QsbrGracePeriods periods(1);
  QsbrGracePeriods::Reader reader(periods, 0);
  SleepCounters counters;
  TestQueue queue(false);
  Idle idle(microseconds(20), {&queue}, counters);
  idle.set_up_thread();
  rest_until_slept(idle, reader, counters, 5);
  EXPECT_EQ(counters.sleeps.get(), 5U);
  EXPECT_GT(counters.cycles.get(), 0U);
  idle.worked();
  EXPECT_EQ(queue.switched(), 0U);
}

TEST(Idle, IsOnlineBetweenItsSleeps) {
  QsbrGracePeriods periods(1);
  QsbrGracePeriods::Reader reader(periods, 0);
  SleepCounters counters;
  Idle idle(microseconds(20), {}, counters);
  idle.set_up_thread();
  rest_until_slept(idle, reader, counters, 1);
  const auto token = periods.start();
  EXPECT_FALSE(periods.elapsed(token, false));
  rest_until_slept(idle, reader, counters, 2);
  EXPECT_TRUE(periods.elapsed(token, false));
}

/// The second sleep would take two hours, so only the interrupt can end it.
TEST(Idle, IsWokenByAnInterruptAndKeepsNoOwnerWaiting) {
  QsbrGracePeriods periods(1);
  SleepCounters counters;
  TestQueue queue(true), silent(false);
  std::atomic<bool> online{false};
  Idle idle(hours(2), {&silent, &queue}, counters);
  std::jthread sleeper([&] {
    QsbrGracePeriods::Reader reader(periods, 0);
    online = true;
    idle.set_up_thread();
    // The sleeps double, so this one is far longer than any test.
    rest_until_slept(idle, reader, counters, 40);
    idle.worked();
  });
  while (!online) std::this_thread::yield();
  EXPECT_TRUE(periods.elapsed(periods.start(), true));
  while (counters.sleeps.get() < 40) {
    queue.raise();
    std::this_thread::yield();
  }
  sleeper.join();
  EXPECT_FALSE(queue.armed());
  EXPECT_EQ(queue.switched(), 2U);
}

TEST(Idle, IsWokenByTheDoorbellAgainAndAgain) {
  QsbrGracePeriods periods(1);
  SleepCounters counters;
  Idle idle(hours(2), {}, counters);
  std::atomic<unsigned> work{0};
  std::jthread sleeper([&] {
    QsbrGracePeriods::Reader reader(periods, 0);
    idle.set_up_thread();
    rest_until_slept(idle, reader, counters, 40);  // The next sleep takes hours.
    for (unsigned done = 0; done < 100;) {
      if (work.exchange(0) == 0) {
        idle.rest(reader, std::chrono::nanoseconds::max());
        continue;
      }
      // Some work is followed by more work before the next sleep, some is not.
      if (++done % 3 == 0) idle.worked();
    }
  });
  while (counters.sleeps.get() < 40) {
    idle.doorbell().ring();
    std::this_thread::yield();
  }
  for (unsigned given = 0; given < 100; ++given) {
    work.store(1);
    idle.doorbell().ring();
    while (work.load() != 0) std::this_thread::yield();
  }
}

}  // namespace
}  // namespace penumbra::runtime
