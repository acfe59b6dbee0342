// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>

#include "gpu/bars.h"
#include "gpu/measurements.h"
#include "gpu/shader_on_gpu.h"
#include "gpu/tasks.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::uint32_t kShaderItems = 1U << 26;  ///< Enough that keys and answers are in no cache.
constexpr std::uint32_t kReads = 1U << 27;
constexpr unsigned kTimes = 16;  ///< Runs in a sample.
constexpr char kLimit[] = "random reads, as many as look-ups take lines";

template <class Work>
double millions_a_second(double items, Work work) {
  const double begin = now();
  work();
  return kTimes * items / (now() - begin) * 1e-6;
}

void measure_shader(const Options& options, const Task& task, Report& report) {
  const ShaderOnGpu gpu(*task.work, kShaderItems);
  gpu.check_lookups();
  gpu.check_reads();
  report.checked(fmt::format("every answer of the shader for {} on the GPU equals the oracle's", task.name));
  const double lookups_read = kReads / task.lines;
  const auto series = interleave(
      {{"look-ups", [&gpu] { return millions_a_second(kShaderItems, [&gpu] { gpu.lookups(kTimes); }); }},
       {kLimit, [&gpu, lookups_read] { return millions_a_second(lookups_read, [&gpu] { gpu.reads(kReads, kTimes); }); },
        Role::limit}},
      options.rounds);
  const std::string what = fmt::format("{}: the shader on data already there, reads in {}, {:.2f} lines a look-up",
                                       task.name, size_name(gpu.read_bytes()), task.lines);
  const auto ratios = report.compare(what, "M look-ups/s", series, kLimit);
  task.by_the_shader->tell(report, ratios[0]);
}

}  // namespace

void measure_shaders(const Options& options, Report& report) {
  const auto measure = [&](const Task& task) {
    report.input(task.name, task.description);
    measure_shader(options, task, report);
  };
  measure(ipv4_task(options));
  for (const Task& task : more_tasks(options)) measure(task);
}

}  // namespace penumbra::bench::gpu
