// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "schedule.h"

namespace penumbra::bench {

/// How far a run is and how long it will still take, on standard error: a line that renews itself where that is a
/// terminal that gets nothing else, else a line for each benchmark.
class Progress {
 public:
  /// `alone`: nothing is printed on standard output meanwhile.
  explicit Progress(bool alone);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Wipes the line off the terminal.
  ~Progress();

  /// The next one of the schedule begins.
  void begin(const std::string& what, const Schedule& schedule);
  /// It goes on.
  void tick(const Schedule& schedule) const;

 private:
  std::string line(const Schedule& schedule) const;

  bool renews_;
  std::string what_;
  double begin_ = 0;
};

/// "2 min 5 s".
std::string duration_name(double seconds);

}  // namespace penumbra::bench
