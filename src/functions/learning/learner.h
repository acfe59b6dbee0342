// SPDX-License-Identifier: Apache-2.0
//
// Lets a function learn from packets. Workers report events, and one thread takes the events. Only this thread changes
// the function's table. Reporting neither waits nor allocates. Reporting makes a system call only to wake the thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/doorbell.h"
#include "base/file_descriptor.h"

struct rte_ring;

namespace penumbra {

/// Implements the part of Learner that does not depend on the type of the events.
class LearnerOfBytes {
 public:
  static constexpr std::size_t kMost = 256;  ///< most events in one call of take()
  using Take = std::function<void(const void* events, std::size_t count)>;

  LearnerOfBytes(std::string name, std::size_t workers, std::size_t capacity, std::size_t event_bytes,
                 std::chrono::milliseconds turn, Take take);
  ~LearnerOfBytes();
  LearnerOfBytes(const LearnerOfBytes&) = delete;
  LearnerOfBytes& operator=(const LearnerOfBytes&) = delete;

  void start();
  bool report(std::size_t worker, const void* event) noexcept;

 private:
  struct Free {
    void operator()(rte_ring* ring) const;
  };

  void run(const std::stop_token& stop);
  bool take();
  bool is_empty() const;
  void sleep();

  const std::string name_;
  const std::uint32_t event_bytes_;
  const std::chrono::milliseconds turn_;
  const Take take_;
  std::vector<std::unique_ptr<rte_ring, Free>> rings_;  ///< by worker
  std::vector<std::uint32_t> events_;
  Doorbell bell_;
  FileDescriptor epoll_;
  std::jthread thread_;
};

/// Runs the thread that learns. The thread takes the events of each worker in the order in which the worker reported
/// them.
template <class Event>
class Learner {
  static_assert(std::is_trivially_copyable_v<Event> && sizeof(Event) % sizeof(std::uint32_t) == 0 &&
                alignof(Event) <= alignof(std::max_align_t));

 public:
  /// Receives some reported events at a time. At least once in every turn it receives no events, for work that depends
  /// on the clock.
  using Take = std::function<void(std::span<const Event> events)>;

  /// `name` is the name of the thread, at most 15 letters. `capacity`, at most 2^30, is the number of events of each
  /// worker that may wait. `take` is called on the thread. Throws std::bad_alloc and std::system_error.
  Learner(std::string name, std::size_t workers, std::size_t capacity, std::chrono::milliseconds turn, Take take)
      : bytes_(std::move(name), workers, capacity, sizeof(Event), turn,
               [take = std::move(take)](const void* events, auto count) {
                 take({static_cast<const Event*>(events), count});
               }) {}

  /// Starts the thread if it is not running. Throws std::system_error. The destructor takes all reported events; no
  /// worker may call report() during or after destruction.
  void start() { bytes_.start(); }
  /// Reports an event. Only the worker's own thread may call this function. Returns false if too many of its events are
  /// waiting; the event is then lost, and the worker must count it.
  bool report(std::size_t worker, const Event& event) noexcept { return bytes_.report(worker, &event); }

 private:
  LearnerOfBytes bytes_;
};

}  // namespace penumbra
