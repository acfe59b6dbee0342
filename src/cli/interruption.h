// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace penumbra::cli {

/// While it lives, the first SIGINT or SIGTERM does not end the program but is noticed here; a second one ends it. One
/// at a time.
class Interruption {
 public:
  /// Throws std::system_error.
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  /// Becomes readable when the signal has come, and stays so: for poll().
  int descriptor() const noexcept;
  /// Waits until the signal comes, but no longer than that. Whether it has come.
  bool wait_for(std::chrono::nanoseconds time) const;
};

}  // namespace penumbra::cli
