// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/proc.h"
#include "gopt/measure.h"
#include "gpu/chain_table.h"
#include "gpu/core_team.h"
#include "gpu/measurements.h"
#include "gpu/timing.h"
#include "pin.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr std::uint32_t kCheckedSteps = 4;

/// Chains on the GPU, one per thread; four per thread above kOneEach chains.
class ChainsOnGpu {
 public:
  ChainsOnGpu(std::size_t bytes, std::uint64_t seed)
      : table_(bytes, seed), starts_(chain_starts(bytes, kMostChains, seed)), next_(chain_permutation(bytes, seed)) {
    copy_now(gpu_starts_.data(), std::span(starts_));
  }

  void check(std::uint32_t chains) const {
    gpu::check(cudaMemset(gpu_ends_.data(), 0xFF, gpu_ends_.bytes()), "wiping out");
    run(chains, kCheckedSteps);
    std::vector<std::uint32_t> ends(chains);
    copy_now(ends.data(), gpu_ends_.span().first(chains));
    check_ends("random accesses on the GPU", next_, starts_, ends, kCheckedSteps);
  }
  /// Returns the million accesses per second.
  double rate(std::uint32_t chains) const {
    const std::uint32_t steps = std::clamp(kAccesses / chains, 16U, kMostSteps);
    const double begin = now();
    run(chains, steps);
    return static_cast<double>(chains) * steps / (now() - begin) * 1e-6;
  }

  static constexpr std::uint32_t kMostChains = 1U << 20;

 private:
  static constexpr std::uint32_t kOneEach = 1U << 18;  ///< Threads, about as many as the GPU runs at once.
  static constexpr std::uint32_t kAccesses = 1U << 27, kMostSteps = 1U << 14;

  void run(std::uint32_t chains, std::uint32_t steps) const {
    const auto launch = chains > kOneEach ? &launch_chase_by_fours : &launch_chase;
    gpu::check(launch(table_.view(steps), gpu_starts_.data(), gpu_ends_.data(), chains, stream_.get()), "launching");
    stream_.wait();
  }

  GpuChains table_;
  std::vector<std::uint32_t> starts_;
  Permutation next_;
  DeviceArray<std::uint32_t> gpu_starts_{kMostChains}, gpu_ends_{kMostChains};
  Stream stream_;
};

/// Chains on cores; each core has separate chains.
class ChainsOnCores {
 public:
  ChainsOnCores(std::size_t bytes, std::uint64_t seed)
      : table_(bytes, seed), next_(chain_permutation(bytes, seed)), asked_("lines", kLinesAsked) {
    asked_.table = table_.bytes();
    asked_.accesses = 1;
    const std::vector<std::uint32_t> starts = chain_starts(bytes, kOfACore * core_count(), seed);
    for (unsigned core = 0; core < core_count(); ++core) {
      chains_.emplace_back(std::span(starts).subspan(std::size_t{kOfACore} * core, kOfACore));
    }
  }

  void check(unsigned cores, std::uint32_t in_flight) {
    run_team(cores, [&](unsigned core) { chains_[core].pass(table_.view(kSteps), in_flight); });
    for (const CoreChains& each : std::span(chains_).first(cores)) {
      check_ends("random accesses on cores", next_, each.before(), each.at(), kSteps);
    }
  }
  double rate(unsigned cores, std::uint32_t in_flight) {
    return team_rate(cores, kSampleSeconds,
                     [&](unsigned core) { return chains_[core].pass(table_.view(kSteps), in_flight); });
  }
  /// Returns the rate of lines that one core prefetches without waiting.
  double line_rate() const {
    double found = 0;
    run_team(1, [&](unsigned) { found = bench::line_rate(asked_, kSampleSeconds); });
    return found;
  }

 private:
  /// Chains are long, so that few accesses belong to two consecutive chains. A core looks about a hundred instructions
  /// ahead, and would process several short chains at once in place of one.
  static constexpr std::uint32_t kOfACore = 1U << 7, kSteps = 1U << 11;
  static constexpr std::uint32_t kLinesAsked = 1U << 24;  ///< Lines prefetched before the sequence repeats.

  HostChains table_;
  Permutation next_;
  Workload asked_;
  std::vector<CoreChains> chains_;
};

Plot plot_of(std::size_t bytes) {
  return {"E4", "random accesses to " + size_name(bytes), "chains in flight"};
}

void measure_gpu(std::size_t bytes, const Options& options, Report& report) {
  const ChainsOnGpu chains(bytes, options.seed);
  std::vector<Contender> turns;
  Places places{plot_of(bytes), "GPU", {}};
  for (const std::uint32_t count : {1U << 10, 1U << 13, 1U << 16, 1U << 18, ChainsOnGpu::kMostChains}) {
    chains.check(count);
    places.at.emplace_back(static_cast<double>(count));
    turns.push_back({fmt::format("{} chains", count), [&chains, count] { return chains.rate(count); }});
  }
  report.compare(fmt::format("random accesses on the GPU, {}", size_name(bytes)), "M accesses/s",
                 interleave(turns, options.rounds), "", places);
}

void measure_cores(std::size_t bytes, const Options& options, Report& report) {
  ChainsOnCores chains(bytes, options.seed);
  std::vector<Contender> turns;
  Places places{plot_of(bytes), "1 core", {}};
  for (const std::uint32_t in_flight : {1U, 4U, 16U, 32U, 64U}) {
    chains.check(1, in_flight);
    places.at.emplace_back(static_cast<double>(in_flight));
    turns.push_back(
        {fmt::format("1 core, {} chains", in_flight), [&chains, in_flight] { return chains.rate(1, in_flight); }});
  }
  const std::string title = "random accesses on the CPU, " + size_name(bytes);
  report.compare(title, "M accesses/s", interleave(turns, options.rounds), "", places);
  // The limit of one core is compared with one core only: several cores are not bound by it.
  turns = {turns.back(), {"1 core, lines asked for", [&chains] { return chains.line_rate(); }, Role::limit}};
  report.compare(title + ", 1 core", "M accesses/s", interleave(turns, options.rounds), "");
  const unsigned cores = core_count();
  if (cores == 1) return;
  constexpr std::uint32_t kEach = 32;
  chains.check(cores, kEach);
  const std::string name = fmt::format("{} cores, {} chains each", cores, kEach);
  report.compare(title, "M accesses/s",
                 interleave({{name, [&chains, cores] { return chains.rate(cores, kEach); }}}, options.rounds), "");
}

}  // namespace

void measure_random_accesses(const Options& options, Report& report) {
  report.input("chains",
               fmt::format("a permutation of all cache lines of a table, the same on GPU and CPU, from lines drawn "
                           "evenly, seed {}",
                           options.seed));
  for (const std::size_t bytes : {kGiB / 32, kGiB / 4, kGiB, 8 * kGiB}) {
    measure_gpu(bytes, options, report);
    const std::uint64_t available = available_memory();
    if (available != 0 && available < bytes + kGiB) {
      report.note(
          fmt::format("on the CPU, {}: left out, {} of memory are available", size_name(bytes), size_name(available)));
      continue;
    }
    measure_cores(bytes, options, report);
  }
  report.checked("every chain ends where the permutation leads");
}

}  // namespace penumbra::bench::gpu
