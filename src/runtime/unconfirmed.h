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

/// Changes that are taken back at a deadline unless somebody confirms them. Whoever works over the router itself does
/// not lock himself out: the router keeps the time, whatever becomes of the connection. The caller's mutex guards all
/// of it.
class Unconfirmed {
 public:
  using Clock = std::chrono::steady_clock;

  /// `log` is told when the changes are taken back, and of a change that could not be. Whoever calls holds `mutex`.
  Unconfirmed(std::mutex& mutex, std::function<void(const std::string& text)> log);

  /// A change was made that `undo` takes back. With a time it waits for so long from now on, and all that wait do;
  /// without one it waits if others do.
  void add(std::function<void()> undo, std::optional<std::chrono::nanoseconds> time);
  /// How long until the changes are taken back; nothing if none waits.
  std::optional<std::chrono::duration<double>> left() const;
  /// The changes stay. Returns whether any waited.
  bool confirm();
  /// Takes the changes back, the latest first. Returns how many waited.
  std::size_t roll_back();
  /// Errors of the changes that the last roll_back() could not take back whole.
  const std::vector<std::string>& failures() const { return failures_; }
  /// Forgets the changes and ends the thread. Call without the mutex; later changes stay.
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
  std::jthread thread_;  ///< runs once a change has waited; ended before what it uses is gone
};

}  // namespace penumbra::runtime
