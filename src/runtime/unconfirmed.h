// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace penumbra::runtime {

/// Undoes changes at a deadline unless they are confirmed. A user who works over the router itself thus cannot lock
/// himself out: the router enforces the deadline even if the connection breaks. The caller's mutex guards the object.
class Unconfirmed {
 public:
  using Clock = std::chrono::steady_clock;

  /// `log` gets messages when changes are undone and when an undo fails. Callers of the functions must hold `mutex`.
  Unconfirmed(std::mutex& mutex, std::function<void(const std::string& text)> log);

  /// Registers a change that `undo` reverts. With `time`, all unconfirmed changes get this time from now. Without
  /// `time`, the change is registered only if other changes are unconfirmed.
  void add(std::function<void()> undo, std::optional<std::chrono::nanoseconds> time);
  /// Returns the time until the changes are undone, or nothing if there are none.
  std::optional<std::chrono::duration<double>> left() const;
  /// Keeps the changes. Returns true if any were unconfirmed.
  bool confirm();
  /// Undoes the changes, the latest first. Returns their number.
  std::size_t roll_back();
  /// Returns the errors of changes that the last roll_back() could not undo completely.
  const std::vector<std::string>& failures() const { return failures_; }
  /// Forgets the changes and ends the thread. Later changes stay. Call without the mutex.
  void stop();

 private:
  void wait(const std::stop_token& stop);

  std::mutex& mutex_;
  std::function<void(const std::string& text)> log_;
  std::condition_variable_any changed_;
  std::vector<std::function<void()>> undo_;
  std::vector<std::string> failures_;
  bool is_stopped_ = false;
  Clock::time_point deadline_;
  /// Started at the first unconfirmed change; the last member, so that it ends before the others are destroyed.
  std::jthread thread_;
};

}  // namespace penumbra::runtime
