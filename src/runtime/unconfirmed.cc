// SPDX-License-Identifier: Apache-2.0
#include "runtime/unconfirmed.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace penumbra::runtime {

Unconfirmed::Unconfirmed(std::mutex& mutex, std::function<void(const std::string& text)> log)
    : mutex_(mutex), log_(std::move(log)) {}

void Unconfirmed::add(std::function<void()> undo, std::optional<std::chrono::nanoseconds> time) {
  if (is_stopped_ || (!time && undo_.empty())) return;
  undo_.push_back(std::move(undo));
  if (!time) return;
  deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(*time);
  if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { wait(stop); });
  changed_.notify_all();
}

std::optional<std::chrono::duration<double>> Unconfirmed::left() const {
  if (undo_.empty()) return std::nullopt;
  return std::max(Clock::duration::zero(), deadline_ - Clock::now());
}

bool Unconfirmed::confirm() {
  const bool waited = !undo_.empty();
  undo_.clear();
  return waited;
}

void Unconfirmed::stop() {
  std::jthread ending;
  {
    const std::lock_guard lock(mutex_);
    undo_.clear();
    is_stopped_ = true;
    ending = std::move(thread_);
  }
  ending.request_stop();
}

std::size_t Unconfirmed::roll_back() {
  const std::size_t count = undo_.size();
  failures_.clear();
  for (; !undo_.empty(); undo_.pop_back()) {
    try {
      undo_.back()();
    } catch (const std::exception& error) {  // A change may fail at a limit; the other changes are undone nevertheless.
      failures_.emplace_back(error.what());
      log_(fmt::format("a change cannot be taken back: {}", error.what()));
    }
  }
  return count;
}

void Unconfirmed::wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (undo_.empty()) {
      changed_.wait(lock, stop, [this] { return !undo_.empty(); });
    } else if (Clock::now() < deadline_) {
      // A copy is necessary, because add() may change the member while this thread waits.
      const Clock::time_point deadline = deadline_;
      changed_.wait_until(lock, stop, deadline, [&] { return undo_.empty() || deadline_ != deadline; });
    } else {
      const std::size_t count = roll_back();
      log_(fmt::format("{} changes were not confirmed in time and are taken back", count));
    }
  }
}

}  // namespace penumbra::runtime
