// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <limits>
#include <system_error>
#include <thread>
#include <tuple>

#include "gpu/core_team.h"

namespace penumbra::bench {
namespace {

std::vector<Benchmark>& list() {
  static std::vector<Benchmark> benchmarks;
  return benchmarks;
}

/// Sort key: "E10" comes after "E9", and benchmarks that are no measurement of the papers come last.
std::tuple<bool, std::size_t, std::string, std::string> order_of(const Benchmark& benchmark) {
  const std::string measurement = benchmark.measurements.empty() ? "" : benchmark.measurements.front();
  return {measurement.empty(), measurement.size(), measurement, benchmark.name};
}

struct TwoClocks {
  double time = 0;
  std::uint64_t stamp = 0;
};

/// Reads both clocks as simultaneously as several tries allow: the thread may lose its core between two readings.
TwoClocks read_clocks() {
  constexpr int kTries = 16;
  TwoClocks best;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    const double before = now();
    const std::uint64_t stamp = __builtin_ia32_rdtsc();
    const double between = now() - before;
    if (between >= least) continue;
    least = between;
    best = {before + between / 2, stamp};
  }
  return best;
}

}  // namespace

bool register_benchmark(Benchmark benchmark) {
  const auto place = std::ranges::upper_bound(list(), order_of(benchmark), {}, &order_of);
  list().insert(place, std::move(benchmark));
  return true;
}

const std::vector<Benchmark>& benchmarks() {
  return list();
}

Cost cost_here(const Benchmark& benchmark, bool has_gpu) {
  Cost cost = benchmark.cost;
  cost.is_ours_alone = benchmark.measurements.empty();
  if (has_gpu) cost.once += cost.once_on_gpu;
  if (!cost.is_of_each_router) return cost;
  const auto engines_of_it = std::ranges::count_if(
      engines(), [has_gpu](const EngineInfo& engine) { return has_gpu || !engine.name.starts_with("cuda"); });
  cost.a_round *= static_cast<double>(engines_of_it) * static_cast<double>(worker_counts().size());
  return cost;
}

std::vector<Series> interleave(const std::vector<Contender>& contenders, unsigned rounds, FirstRound first) {
  std::vector<Series> series;
  for (const Contender& contender : contenders) {
    if (first == FirstRound::unmeasured) contender.sample();
    series.push_back({contender.name, {}, contender.role, contender.curve});
  }
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) series[i].samples.push_back(contenders[i].sample());
  }
  return series;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double time_stamps_per_second() {
  static const double kFrequency = [] {
    const TwoClocks begin = read_clocks();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const TwoClocks end = read_clocks();
    return static_cast<double>(end.stamp - begin.stamp) / (end.time - begin.time);
  }();
  return kFrequency;
}

double thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::map<std::string, double> thread_times(int process) {
  std::map<std::string, double> result;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
    std::ifstream names(task.path() / "comm"), times(task.path() / "schedstat");
    std::string name;
    double nanoseconds = 0;
    if (std::getline(names, name) && times >> nanoseconds) result[name] = nanoseconds * 1e-9;
  }
  return result;
}

}  // namespace penumbra::bench
