// SPDX-License-Identifier: Apache-2.0
//
// How a function learns from packets: workers tell what they saw, and one thread, which alone changes the function's
// table, takes it. Telling neither waits nor allocates; it makes a system call only to wake that thread.
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

/// What Learner does whatever the events are: they are so many bytes.
class LearnerOfBytes {
 public:
  static constexpr std::size_t kMost = 256;  ///< events at a time
  using Take = std::function<void(const void* events, std::size_t count)>;

  LearnerOfBytes(std::string name, std::size_t capacity, std::size_t event_bytes, std::chrono::milliseconds turn,
                 Take take);
  ~LearnerOfBytes();
  LearnerOfBytes(const LearnerOfBytes&) = delete;
  LearnerOfBytes& operator=(const LearnerOfBytes&) = delete;

  void start();
  bool tell(const void* event) noexcept;

 private:
  struct Free {
    void operator()(rte_ring* ring) const;
  };

  void run(const std::stop_token& stop);
  bool take();
  void sleep();

  const std::string name_;
  const std::uint32_t event_bytes_;
  const std::chrono::milliseconds turn_;
  const Take take_;
  std::unique_ptr<rte_ring, Free> ring_;
  std::vector<std::uint32_t> events_;
  Doorbell bell_;
  FileDescriptor epoll_;
  std::jthread thread_;
};

/// The thread that learns. Each worker's events are taken in the order in which it told them.
template <class Event>
class Learner {
  static_assert(std::is_trivially_copyable_v<Event> && sizeof(Event) % sizeof(std::uint32_t) == 0 &&
                alignof(Event) <= alignof(std::max_align_t));

 public:
  /// Given what was told, some at a time, and nothing at least once every turn, for what is done by the clock.
  using Take = std::function<void(std::span<const Event> events)>;

  /// `name` is the thread's, of 15 letters at the most; `capacity`, up to 2^30, is how many events may wait. `take` is
  /// called on that thread. Throws std::bad_alloc and std::system_error.
  Learner(std::string name, std::size_t capacity, std::chrono::milliseconds turn, Take take)
      : bytes_(std::move(name), capacity, sizeof(Event), turn,
               [take = std::move(take)](const void* events, auto count) {
                 take({static_cast<const Event*>(events), count});
               }) {}

  /// Begins, if it has not. Throws std::system_error. When this ends, what was told has been taken: nobody tells
  /// anything then.
  void start() { bytes_.start(); }
  /// Any worker. False if too much is waiting: then the event is lost, which is the worker's to count.
  bool tell(const Event& event) noexcept { return bytes_.tell(&event); }

 private:
  LearnerOfBytes bytes_;
};

}  // namespace penumbra
