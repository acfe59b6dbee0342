// SPDX-License-Identifier: Apache-2.0
//
// Provides grace periods for the tests of tables.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "penumbra/table.h"

namespace penumbra {

/// Quiescent-state-based reclamation. A grace period has elapsed once every reader has since reported that it holds
/// nothing. A reader that left counts as quiescent until it returns.
class QuiescentStates final : public GracePeriods {
 public:
  explicit QuiescentStates(std::size_t readers) : seen_(readers) {}

  void quiescent(std::size_t reader) { seen_[reader].store(epoch_.load()); }
  void leave(std::size_t reader) { seen_[reader].store(std::numeric_limits<std::uint64_t>::max()); }

  std::uint64_t start() override { return ++epoch_; }
  bool elapsed(std::uint64_t token, bool wait) override {
    for (const auto& seen : seen_) {
      while (seen.load() < token) {
        if (!wait) return false;
        std::this_thread::yield();
      }
    }
    return true;
  }

 private:
  std::atomic<std::uint64_t> epoch_{0};
  std::vector<std::atomic<std::uint64_t>> seen_;
};

/// Grace periods that elapse when the test ends them or waits for them.
class ManualGracePeriods final : public GracePeriods {
 public:
  std::uint64_t start() override {
    while_starting();
    return ++started;
  }
  bool elapsed(std::uint64_t token, bool wait) override {
    if (wait) {
      ++waits;
      while_waiting();
      finished = std::max(finished, token);
    }
    return token <= finished;
  }

  void end_all() { finished = started; }

  std::uint64_t started = 0, finished = 0;
  int waits = 0;
  std::function<void()> while_starting = [] {}, while_waiting = [] {};
};

}  // namespace penumbra
