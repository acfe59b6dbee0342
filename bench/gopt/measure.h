// SPDX-License-Identifier: Apache-2.0
//
// Measures the ways of a workload.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench.h"
#include "gopt/width_choice.h"
#include "gopt/workload.h"

namespace penumbra::bench {

/// Name of the reference way in every workload.
inline constexpr char kPlain[] = "plain loop";

/// A way with a size.
struct Tuned {
  const Way* way = nullptr;
  std::uint32_t size = 0;
};

/// Runs all items in each way with each of its sizes, then parts of the items, and returns each way with its fastest
/// size. Throws WrongAnswer if an answer differs from the oracle's.
std::vector<Tuned> check_and_tune(Workload& workload);

/// Runs the plain loop and gopt's function as the engine `gopt` does: measures the width on the batches of the
/// workload.
class Calibrated {
 public:
  /// Runs batches until a width has been chosen.
  explicit Calibrated(Workload& workload);
  /// Runs a batch from item `first` on. Trials repeat as they do in the engine.
  void run(std::uint32_t first);
  std::uint32_t width() const { return choice_.chosen(); }

 private:
  Workload& workload_;
  gopt::WidthChoice choice_;
};

/// Returns the million items per second in whole passes over all items, for at least `seconds`. `run_batch(first)` runs
/// a batch.
template <class RunBatch>
double rate(const Workload& workload, double seconds, RunBatch run_batch) {
  std::uint64_t done = 0;
  const double begin = thread_time();
  double end = begin;
  do {
    for (std::uint32_t first = 0; first < workload.items; first += workload.batch) run_batch(first);
    done += workload.items;
    end = thread_time();
  } while (end - begin < seconds);
  return static_cast<double>(done) / (end - begin) * 1e-6;
}

/// Returns the million lines per second that a core prefetches at random from the workload's table, without other work.
double line_rate(const Workload& workload, double seconds);

}  // namespace penumbra::bench
