// SPDX-License-Identifier: Apache-2.0
//
// The one thread that talks to a GPU (PacketShader, section 5.1), for any engine: takes turns at its work, does what
// other threads ask of it in between, and sleeps when there is nothing to do.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/doorbell.h"
#include "base/file_descriptor.h"
#include "cuda/device.h"

namespace penumbra::cuda {

class DeviceThread {
 public:
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

  /// Begins with open(), if it has not begun yet, and returns after that.
  void start();
  /// A worker will run on this core: the thread stays off it, as long as there is another one that this process had
  /// when it began.
  void keep_off(unsigned core);

 protected:
  using Clock = std::chrono::steady_clock;

  /// `name` as `top -H` shows it. It sleeps for so long at most, even if nobody rings. Throws std::system_error.
  DeviceThread(const char* name, std::chrono::milliseconds longest_sleep);
  /// stop() was called: by the destructor of whoever has the work.
  virtual ~DeviceThread() = default;
  /// Ends with close(), if it has begun.
  void stop();

  /// Has the thread do it, and waits until it has; before start() the caller does it. What throws DeviceError loses the
  /// device.
  void ask(std::function<void()> request);

  // The thread's own. What of these throws DeviceError, but for lose() and close(), loses the device.

  virtual void open() = 0;
  /// Returns whether anything was done.
  virtual bool turn() = 0;
  /// Whether only a ring of doorbell_ can change that.
  virtual bool has_nothing_to_do() const = 0;
  virtual void lose(const DeviceError& error) = 0;
  virtual void close() = 0;

  Doorbell doorbell_;  ///< wakes it

 private:
  void run();
  void move() const;
  bool run_requests();
  void rest(unsigned& idle_turns);
  bool may_sleep() const;

  const char* const name_;
  const std::chrono::milliseconds longest_sleep_;
  FileDescriptor epoll_;  ///< in which it sleeps
  std::atomic<bool> stop_{false}, is_asked_{false};
  std::mutex requests_mutex_;
  std::vector<std::packaged_task<void()>> requests_;
  std::thread thread_;
  cpu_set_t workers_{};  ///< cores; the thread's own
};

/// The name of the first of the threads' devices that was ever opened, for they are alike; empty: none was.
template <class Threads>
std::string first_device_name(const Threads& threads) {
  for (const auto& thread : threads) {
    if (std::string name = thread->device_name(); !name.empty()) return name;
  }
  return {};
}

}  // namespace penumbra::cuda
