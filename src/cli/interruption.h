// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace penumbra::cli {

/// Catches SIGINT and SIGTERM during its lifetime. The first signal sets a flag, and a second signal ends the program.
/// Only one object may exist at a time.
class Interruption {
 public:
  /// Throws std::system_error.
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  /// Returns a descriptor for poll() that becomes and stays readable after the signal.
  int descriptor() const noexcept;
  /// Waits for the signal for at most `time`. Returns true if the signal has come.
  bool wait_for(std::chrono::nanoseconds time) const;
};

}  // namespace penumbra::cli
