// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "gpu/life_sign.h"
#include "gpu/measurements.h"
#include "gpu/tasks.h"

namespace penumbra::bench::gpu {
namespace {

struct Measurement {
  const char* name;
  void (*run)(const Options& options, Report& report);
};
constexpr Measurement kMeasurements[] = {{"E1, copies", &measure_copies},
                                         {"E2, launches", &measure_launches},
                                         {"E3, exchanges", &measure_exchanges},
                                         {"E21, buffers in flight", &measure_buffers},
                                         {"E19, group synchronization", &measure_group_signals},
                                         {"E4, random accesses", &measure_random_accesses},
                                         {"E5, the offload crossover", &measure_offload}};

}  // namespace

void measure_all(const Options& options, Report& report) {
  LifeSign life;
  std::string failures;
  // One that fails does not keep the others from being measured.
  const auto attempt = [&](const char* name, const auto& measure) {
    life.now(name);
    try {
      measure();
    } catch (const std::exception& error) {
      failures += std::string(failures.empty() ? "" : "; ") + name + ": " + error.what();
    }
  };
  for (const Measurement& each : kMeasurements) {
    attempt(each.name, [&] { each.run(options, report); });
  }
  const auto look_up = [&](const Task& task) {
    report.input(task.name, task.description);
    attempt((task.name + ", the shader on data already there").c_str(), [&] { measure_shader(options, task, report); });
    attempt((task.name + ", look-ups").c_str(), [&] { measure_lookups(options, task, report); });
  };
  attempt("IPv4", [&] {
    const Task task = ipv4_task(options);
    look_up(task);
    attempt("E18, latencies", [&] { measure_latencies(options, *task.work, report); });
  });
  attempt("IPv6 and flows", [&] {
    for (const Task& task : more_tasks(options)) look_up(task);
  });
  if (!failures.empty()) throw std::runtime_error(failures);
}

Availability find_gpu() {
  // A kernel that is loaded when it is first launched may wait for one that never stops.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  return std::ranges::find(engines(), "cuda", &EngineInfo::name)->probe();
}

}  // namespace penumbra::bench::gpu
