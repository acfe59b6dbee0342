// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_thread.h"

#include <pthread.h>
#include <sys/epoll.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace penumbra::cuda {
namespace {

constexpr unsigned kSpins = 64;        ///< Idle turns without yielding the core.
constexpr unsigned kIdleTurns = 2000;  ///< Idle turns before the thread sleeps.

/// Cores of the process at its start; the caller that opens the first queue may be pinned to one core by then.
const cpu_set_t kCores = [] {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  return cores;
}();

}  // namespace

DeviceThread::DeviceThread(const char* name, std::chrono::milliseconds longest_sleep)
    : name_(name), longest_sleep_(longest_sleep), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "cannot make an epoll set");
  doorbell_.join(epoll_);
}

void DeviceThread::start() {
  if (thread_.joinable()) return;
  thread_ = std::thread([this] { run(); });
  ask([] {});
}

void DeviceThread::keep_off(unsigned core) {
  if (core >= CPU_SETSIZE) return;
  ask([this, core] {
    CPU_SET(core, &workers_);
    if (thread_.joinable()) move();
  });
}

/// Has no effect if the process may no longer use these cores.
void DeviceThread::move() const {
  cpu_set_t shared, others;
  CPU_AND(&shared, &kCores, &workers_);
  CPU_XOR(&others, &kCores, &shared);
  const cpu_set_t& wanted = CPU_COUNT(&others) > 0 ? others : kCores;
  pthread_setaffinity_np(pthread_self(), sizeof wanted, &wanted);
}

void DeviceThread::stop() {
  stop_.store(true);
  doorbell_.ring();
  if (thread_.joinable()) thread_.join();
}

void DeviceThread::ask(std::function<void()> request) {
  if (!thread_.joinable()) return request();
  std::packaged_task<void()> task([this, request = std::move(request)] {
    try {
      request();
    } catch (const DeviceError& error) {
      lose(error);
    }
  });
  std::future<void> done = task.get_future();
  {
    const std::lock_guard lock(requests_mutex_);
    requests_.push_back(std::move(task));
  }
  is_asked_.store(true, std::memory_order_release);
  doorbell_.ring();
  done.get();
}

bool DeviceThread::run_requests() {
  if (!is_asked_.exchange(false, std::memory_order_acquire)) return false;
  std::vector<std::packaged_task<void()>> requests;
  {
    const std::lock_guard lock(requests_mutex_);
    requests.swap(requests_);
  }
  for (auto& request : requests) request();
  return true;
}

void DeviceThread::run() {
  pthread_setname_np(pthread_self(), name_);
  move();
  open();
  unsigned idle_turns = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    bool worked = run_requests();
    try {
      worked = turn() || worked;
    } catch (const DeviceError& error) {
      lose(error);
    }
    if (worked) {
      idle_turns = 0;
    } else {
      rest(idle_turns);
    }
  }
  close();
}

bool DeviceThread::may_sleep() const {
  return !is_asked_.load(std::memory_order_acquire) && !stop_.load(std::memory_order_relaxed) && has_nothing_to_do();
}

void DeviceThread::rest(unsigned& idle_turns) {
  if (++idle_turns < kSpins) return __builtin_ia32_pause();
  if (idle_turns < kIdleTurns || !may_sleep()) return std::this_thread::yield();
  doorbell_.listen();
  epoll_event event{};
  if (may_sleep()) epoll_wait(epoll_.get(), &event, 1, static_cast<int>(longest_sleep_.count()));
  doorbell_.ignore();
}

}  // namespace penumbra::cuda
