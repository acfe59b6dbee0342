// SPDX-License-Identifier: Apache-2.0
#include "runtime/idle.h"

#include <rte_cycles.h>
#include <rte_pause.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>

namespace penumbra::runtime {

IdlePolicy::IdlePolicy(std::chrono::nanoseconds longest, double ticks_per_second)
    : longest_(longest),
      spin_ticks_(static_cast<std::uint64_t>(std::chrono::duration<double>(kSpin).count() * ticks_per_second)) {}

std::chrono::nanoseconds IdlePolicy::rest(std::uint64_t now) noexcept {
  if (working_) {
    working_ = false;
    since_ = now;
    next_ = std::min(kFirst, longest_);
  }
  if (now - since_ < spin_ticks_) return std::chrono::nanoseconds(0);
  return std::exchange(next_, std::min(2 * next_, longest_));
}

Idle::Idle(std::chrono::nanoseconds longest, std::vector<io::RxQueue*> queues, SleepCounters& counters)
    : longest_(longest),
      policy_(longest, static_cast<double>(rte_get_tsc_hz())),
      all_queues_(std::move(queues)),
      counters_(counters) {}

void Idle::set_up_thread() noexcept {
  // The kernel may delay an ordinary thread's timers by 50 us, so as to join them with others.
  prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  watch();
}

void Idle::watch() noexcept {
  if (armed_) arm(false);
  try {
    find_interrupts();
  } catch (const std::exception&) {
    queues_.clear();
    epoll_ = {};
    policy_.set_longest(longest_);
  }
}

void Idle::find_interrupts() {
  queues_ = all_queues_;
  policy_.set_longest(longest_);
  std::erase_if(queues_, [](const io::RxQueue* queue) { return queue->exhausted(); });
  const auto silent = std::erase_if(queues_, [](const io::RxQueue* queue) { return queue->interrupts().empty(); });
  if (longest_.count() == 0) return;
  if (silent == 0 && !queues_.empty()) policy_.set_longest(std::max(longest_, kLongestOnInterrupts));
  epoll_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "no epoll set for a worker");
  doorbell_.join(epoll_);
  for (const io::RxQueue* queue : queues_) {
    for (const int interrupt : queue->interrupts()) {
      // Edge-triggered, because the driver reads the descriptor.
      epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
      // Queues may share an interrupt.
      if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, interrupt, &event) != 0 && errno != EEXIST) {
        throw std::system_error(errno, std::generic_category(), "cannot wait for an RX interrupt");
      }
    }
  }
}

bool Idle::rest(QsbrGracePeriods::Reader& reader, std::chrono::nanoseconds most) noexcept {
  const std::chrono::nanoseconds duration = std::min(policy_.rest(rte_rdtsc()), most);
  if (duration.count() == 0) {
    rte_pause();
    return false;
  }
  // Packets that arrived before arming raise no interrupt, so the interrupts are armed one round before the first
  // sleep.
  if (!armed_) {
    arm(true);
    return false;
  }
  const std::uint64_t begin = rte_rdtsc();
  reader.offline();
  sleep(duration);
  reader.online();
  doorbell_.listen();  // The doorbell may have rung.
  counters_.add(rte_rdtsc() - begin);
  return true;
}

void Idle::arm(bool on) noexcept {
  armed_ = on;
  if (on) {
    doorbell_.listen();
  } else {
    doorbell_.ignore();
  }
  for (io::RxQueue* queue : queues_) queue->arm(on);
}

void Idle::sleep(std::chrono::nanoseconds duration) const noexcept {
  constexpr long kNanoseconds = 1'000'000'000;
  const timespec time{.tv_sec = duration.count() / kNanoseconds, .tv_nsec = duration.count() % kNanoseconds};
  epoll_event event{};
  // A signal ends the sleep early, which only causes another poll.
  if (epoll_ && (epoll_pwait2(epoll_.get(), &event, 1, &time, nullptr) >= 0 || errno == EINTR)) return;
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

}  // namespace penumbra::runtime
