// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "schedule.h"

namespace penumbra::bench {

/// Shows on standard error how far a run is and how long it will still take. On a terminal without other output it
/// rewrites one line, else it prints a line for each benchmark.
class Progress {
 public:
  /// `alone` means that nothing else is printed on standard output meanwhile.
  explicit Progress(bool alone);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Clears the line on the terminal.
  ~Progress();

  /// Call when the next benchmark of the schedule begins.
  void begin(const std::string& what, const Schedule& schedule);
  /// Call about once a second while it runs.
  void tick(const Schedule& schedule) const;

 private:
  std::string line(const Schedule& schedule) const;

  bool renews_;
  std::string what_;
  double begin_ = 0;
};

/// Returns the duration in words, "2 min 5 s".
std::string duration_name(double seconds);

}  // namespace penumbra::bench
