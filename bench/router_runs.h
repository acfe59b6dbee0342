// SPDX-License-Identifier: Apache-2.0
//
// Runs router systems: once with a check of every packet that is sent, then as programs that are measured.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench.h"
#include "router_systems.h"
#include "temporary.h"

namespace penumbra::bench {

/// Returns the choice of an engine for `queues` queues. The blocks of cuda-resident are divided among the queues, with
/// at most the default number for each.
std::string choice_of(const std::string& engine, unsigned queues);

class RouterRuns {
 public:
  RouterRuns(const Options& options, Report& report) : report_(report), makers_(folder_.path(), options.seed) {}

  const RouterSystems& makers() const { return makers_; }

  /// Runs the system with `workers` workers on each of its engines that is available, and reports that every packet is
  /// right. Each run has its own process, so that nothing of it remains when routers are measured. Check all systems
  /// before engines_here() initializes CUDA: this process may not fork afterwards. Throws WrongAnswer, or
  /// std::runtime_error.
  void check(const RouterSystem& system, unsigned workers) const;
  /// Returns the names of the engines of this machine that run the system, and kPlain if it has an AVX-512 form.
  static std::vector<std::string> engines_of(const RouterSystem& system);
  /// Writes the configuration with `workers` workers and returns its file.
  std::string write_config(const RouterSystem& system, const std::string& engine, unsigned workers) const;
  /// Returns the million packets per second of the whole system. Throws WrongAnswer if a packet was not sent on.
  static double rate(const std::string& config);

 private:
  Report& report_;
  const TemporaryFolder folder_;
  const RouterSystems makers_;
};

}  // namespace penumbra::bench
