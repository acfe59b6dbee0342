// SPDX-License-Identifier: Apache-2.0
//
// The single thread that talks to a GPU (PacketShader, section 5.1), for any engine. The thread loops over its work,
// runs requests of other threads between turns, and sleeps when it has no work.
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

  /// Starts the thread with open(), unless it runs already, and returns after open().
  void start();
  /// Keeps the thread off `core`, on which a worker will run, as long as another core is left that the process had at
  /// its start.
  void keep_off(unsigned core);

 protected:
  using Clock = std::chrono::steady_clock;

  /// `name` is the thread's name in `top -H`. `longest_sleep` limits a sleep without a ring of the doorbell. Throws
  /// std::system_error.
  DeviceThread(const char* name, std::chrono::milliseconds longest_sleep);
  /// The derived class must have called stop() in its destructor.
  virtual ~DeviceThread() = default;
  /// Ends the thread with close(), if it was started.
  void stop();

  /// Runs `request` on the thread and waits for it; before start() the caller runs it. A DeviceError that it throws is
  /// a device failure.
  void ask(std::function<void()> request);

  // The thread calls the following functions. A DeviceError from any of them but lose() and close() is a device
  // failure.

  virtual void open() = 0;
  /// Does one round of work. Returns true if anything was done.
  virtual bool turn() = 0;
  /// True if only a ring of doorbell_ can bring new work.
  virtual bool has_nothing_to_do() const = 0;
  virtual void lose(const DeviceError& error) = 0;
  virtual void close() = 0;

  Doorbell doorbell_;  ///< Wakes the thread.

 private:
  void run();
  void move() const;
  bool run_requests();
  void rest(unsigned& idle_turns);
  bool may_sleep() const;

  const char* const name_;
  const std::chrono::milliseconds longest_sleep_;
  FileDescriptor epoll_;  ///< The thread sleeps in it.
  std::atomic<bool> stop_{false}, is_asked_{false};
  std::mutex requests_mutex_;
  std::vector<std::packaged_task<void()>> requests_;
  std::thread thread_;
  cpu_set_t workers_{};  ///< Cores of workers. Used on the thread only.
};

/// Returns the name of the first device that was ever opened, or an empty string. The devices are alike.
template <class Threads>
std::string first_device_name(const Threads& threads) {
  for (const auto& thread : threads) {
    if (std::string name = thread->device_name(); !name.empty()) return name;
  }
  return {};
}

}  // namespace penumbra::cuda
