// SPDX-License-Identifier: Apache-2.0
//
// How the ways of a workload are measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench.h"
#include "gopt/width_choice.h"
#include "gopt/workload.h"

namespace penumbra::bench {

/// How every workload calls the way that others are held against.
inline constexpr char kPlain[] = "plain loop";

/// One way with one size.
struct Tuned {
  const Way* way = nullptr;
  std::uint32_t size = 0;
};

/// Goes over all items in each way with each of its sizes, then over parts of them, and returns each way's fastest.
/// Throws WrongAnswer if an answer is not the oracle's.
std::vector<Tuned> check_and_tune(Workload& workload);

/// The plain loop and gopt's function as the engine `gopt` runs them: the width is measured on the batches that come.
class Calibrated {
 public:
  /// Runs batches until a width has been chosen.
  explicit Calibrated(Workload& workload);
  /// A batch from item `first` on; trials come again as they do in the engine.
  void run(std::uint32_t first);
  std::uint32_t width() const { return choice_.chosen(); }

 private:
  Workload& workload_;
  gopt::WidthChoice choice_;
};

/// Million items a second in whole passes over all items, for at least `seconds`; `run_batch(first)` does a batch.
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

/// Million lines a second that a core gets of the workload's table if it does nothing but ask for random ones.
double line_rate(const Workload& workload, double seconds);

}  // namespace penumbra::bench
