// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "gpu/ipv4_work.h"
#include "gpu/life_sign.h"
#include "gpu/measurements.h"

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

struct Ipv4Measurement {
  const char* name;
  void (*run)(const Options& options, Ipv4Work& work, Report& report);
};
constexpr Ipv4Measurement kIpv4Measurements[] = {{"E11, the shader on data already there", &measure_shader},
                                                 {"E11, look-ups", &measure_lookups},
                                                 {"E18, latencies", &measure_latencies}};

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
  life.now("the IPv4 table");
  Ipv4Work work(options);
  report.input("table", work.input.description);
  for (const Ipv4Measurement& each : kIpv4Measurements) {
    attempt(each.name, [&] { each.run(options, work, report); });
  }
  if (!failures.empty()) throw std::runtime_error(failures);
}

Availability find_gpu() {
  // A kernel that is loaded when it is first launched may wait for one that never stops.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  return std::ranges::find(engines(), "cuda", &EngineInfo::name)->probe();
}

}  // namespace penumbra::bench::gpu
