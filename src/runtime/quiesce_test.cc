// SPDX-License-Identifier: Apache-2.0
#include "runtime/quiesce.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/doorbell.h"

namespace penumbra::runtime {
namespace {

/// Holds data that workers read and changes write, without a lock. ThreadSanitizer detects a change that overlaps with
/// work.
struct Shared {
  Quiesce quiesce;
  unsigned value = 0;
  std::atomic<unsigned> busy{0};
  std::atomic<bool> stop{false};
};

void work(Shared& shared) {
  ++shared.busy;
  const unsigned value = shared.value;
  std::this_thread::yield();
  EXPECT_EQ(shared.value, value);
  --shared.busy;
}

void work_in_a_loop(Shared& shared) {
  shared.quiesce.enter();
  while (!shared.stop) {
    work(shared);
    if (shared.quiesce.is_requested()) shared.quiesce.stop();
  }
  shared.quiesce.leave();
}

/// Works and sleeps until the doorbell rings, so a change must ring the doorbell.
void work_asleep(Shared& shared, const FileDescriptor& epoll, Doorbell& doorbell) {
  shared.quiesce.enter();
  while (!shared.stop) {
    work(shared);
    doorbell.listen();
    epoll_event event{};
    if (!shared.quiesce.is_requested() && !shared.stop) epoll_wait(epoll.get(), &event, 1, -1);
    doorbell.ignore();
    if (shared.quiesce.is_requested()) shared.quiesce.stop();
  }
  shared.quiesce.leave();
}

/// Leaves without stop() and enters again, like a worker whose run ends while a change waits.
void work_and_end(Shared& shared) {
  while (!shared.stop) {
    shared.quiesce.enter();
    work(shared);
    shared.quiesce.leave();
  }
}

TEST(Quiesce, ChangesWhileNobodyWorks) {
  constexpr unsigned kChangers = 2, kChanges = 300;
  Shared shared;
  Doorbell doorbell;
  const FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  doorbell.join(epoll);
  std::vector<std::jthread> workers;
  workers.reserve(4);
  for (unsigned i = 0; i < 2; ++i) workers.emplace_back([&] { work_in_a_loop(shared); });
  workers.emplace_back([&] { work_asleep(shared, epoll, doorbell); });
  workers.emplace_back([&] { work_and_end(shared); });
  {
    std::vector<std::jthread> changers;
    changers.reserve(kChangers);
    for (unsigned i = 0; i < kChangers; ++i) {
      changers.emplace_back([&] {
        for (unsigned change = 0; change < kChanges; ++change) {
          shared.quiesce.change([&] { doorbell.ring(); },
                                [&] {
                                  EXPECT_EQ(shared.busy, 0U);
                                  ++shared.value;
                                });
        }
      });
    }
  }
  shared.stop = true;
  doorbell.ring();
  workers.clear();
  EXPECT_EQ(shared.value, kChangers * kChanges);
}

TEST(Quiesce, WorkersGoOnAfterAChangeThatThrows) {
  Shared shared;
  std::jthread worker([&] { work_in_a_loop(shared); });
  const auto fail = [] { throw std::runtime_error("refused"); };
  EXPECT_THROW(shared.quiesce.change([] {}, fail), std::runtime_error);
  shared.quiesce.change([] {}, [&] { shared.value = 1; });
  EXPECT_FALSE(shared.quiesce.is_requested());
  shared.stop = true;
}

/// A change does not wait for a worker that leaves instead of stopping, nor for a worker that has not entered.
TEST(Quiesce, AChangeWaitsForThoseOnlyThatWork) {
  Quiesce quiesce;
  quiesce.enter();
  std::atomic<bool> asked{false};
  std::atomic<unsigned> changes{0};
  std::jthread changer([&] {
    quiesce.change([&] { asked = true; }, [&] { ++changes; });
    quiesce.change([] {}, [&] { ++changes; });
  });
  while (!asked) std::this_thread::yield();
  EXPECT_EQ(changes, 0U);
  quiesce.leave();
  changer.join();
  EXPECT_EQ(changes, 2U);
}

/// A worker that enters waits until the change is made.
TEST(Quiesce, NobodyBeginsDuringAChange) {
  Quiesce quiesce;
  std::atomic<bool> began{false};
  std::jthread worker;
  quiesce.change([] {},
                 [&] {
                   worker = std::jthread([&] {
                     quiesce.enter();
                     began = true;
                     quiesce.leave();
                   });
                   std::this_thread::sleep_for(std::chrono::milliseconds(5));
                   EXPECT_FALSE(began);
                 });
  worker.join();
  EXPECT_TRUE(began);
}

}  // namespace
}  // namespace penumbra::runtime
