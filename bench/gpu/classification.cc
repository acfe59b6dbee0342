// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/rules/classbench.h"
#include "gpu/bars.h"
#include "gpu/core_team.h"
#include "gpu/loads.h"
#include "gpu/measurements.h"
#include "gpu/published_rules.h"
#include "gpu/rule_work.h"
#include "gpu/shader_on_gpu.h"
#include "pin.h"
#include "tables/rules/rule_structures.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::size_t kFewRulesAtMost = 2000;  ///< Most rules of a set for the bar of 1 K rules.
constexpr std::size_t kHeaders = std::size_t{1} << 20;
constexpr std::uint32_t kManyRules = 512 * 256, kManyClasses = 512, kFewRules = 1000, kFewClasses = 64;
constexpr std::uint32_t kPublishedBatch = 65'536;
constexpr unsigned kPublishedThreads[] = {256, 512, 1024};
constexpr std::string_view kCuda = "cuda";
constexpr char kNoCuda[] = "the engine cuda is absent";
constexpr char kPublished[] = "the published design";

/// An engine with suitable batch sizes.
struct Way {
  const char* engine;
  std::vector<std::uint32_t> batches;
  std::vector<unsigned> threads;
  std::uint32_t in_flight;  ///< Headers in flight per thread.
  double seconds;           ///< Duration of a sample; a slow core does at least about 150 batches in it.
};
const std::vector<Way>& ways() {
  static const std::vector<Way> kAll{{"gopt", {256}, {1, 2, 4, 8, 15}, 1024, 0.3},
                                     {"cuda", {65'536, 262'144}, {1, 8}, 1U << 18, 0.15},
                                     {"cuda-resident,slots=16,blocks=512", {1024}, {1, 8, 15}, 1U << 16, 0.15}};
  return kAll;
}

RuleTask many_rules(const Options& options) {
  return make_rule_task(
      "128 K rules of 12 fields in 512 classes",
      {.rules = kManyRules, .classes = kManyClasses, .full_classes = kManyClasses, .seed = options.seed}, kHeaders);
}

std::vector<RuleTask> tasks_of_5_fields(const Options& options) {
  std::vector<RuleTask> tasks;
  for (const auto& file : options.rules) {
    auto list = control::rules::read_classbench(file);
    tasks.push_back(
        make_rule_task(file.filename().string(), list.fields, std::move(list.rules), {}, kHeaders, options.seed));
  }
  if (!tasks.empty()) return tasks;
  tasks.push_back(make_rule_task(fmt::format("{} generated rules of 5 fields", kFewRules),
                                 {.fields = RuleFields::ipv4,
                                  .rules = kFewRules,
                                  .classes = kFewClasses,
                                  .full_classes = kFewClasses,
                                  .seed = options.seed},
                                 kHeaders));
  return tasks;
}

/// Returns the highest rate of a structure on an engine, in M headers/s; none if the engine is not available.
std::optional<double> measure(const Way& way, const std::string& structure, const RuleTask& task, RuleWork& work,
                              const Options& options, Report& report) {
  const std::string engine = std::string(way.engine).substr(0, std::string(way.engine).find(','));
  const OpenedEngine opened = open_engine(way.engine, work);
  if (!opened.engine) {
    report.note(fmt::format("{}: {} is absent: {}", task.name, engine, opened.why_not));
    return {};
  }
  const unsigned most = std::max(core_count(), 2U) - 1;
  double best = 0;
  std::deque<Load> loads;  // The last loads must exist when the engine's notes are read.
  for (const unsigned threads : team_sizes(way.threads, most)) {
    loads.clear();
    std::vector<Contender> turns;
    for (const std::uint32_t batch : way.batches) {
      Load& load = loads.emplace_back(
          *opened.engine, work,
          LoadShape{.items = batch, .threads = threads, .items_in_flight = way.in_flight, .seconds = way.seconds});
      load.check();
      turns.push_back({load.name(), [&load] { return load.rate(); }, Role::ours,
                       fmt::format("{} by {}, batches of {}", structure, engine, batch)});
    }
    const std::vector<Series> series = interleave(turns, options.rounds);
    report.compare(fmt::format("{}: {} by {}", task.name, structure, engine), "M headers/s", series, "",
                   Place{{"E14", task.name, "threads"}, static_cast<double>(threads)});
    for (const Series& each : series) best = std::max(best, spread(each.samples).median);
  }
  report_notes(way.engine, *opened.engine, report);
  return best;
}

/// Measures one structure on every engine. Returns its rate on `cuda`.
std::optional<double> measure_all(const std::string& structure, const RuleTask& task, RuleWork& work,
                                  const Options& options, Report& report) {
  std::optional<double> by_cuda;
  for (const Way& way : ways()) {
    const auto best = measure(way, structure, task, work, options, report);
    if (way.engine == kCuda) by_cuda = best;
  }
  report.checked(
      fmt::format("{}, {}: every answer of some rounds of every load, against those of fast on the CPU and these "
                  "against linear search's",
                  task.name, structure));
  return by_cuda;
}

/// Reports the limit of the bus: only copies of headers to the GPU and of answers back.
void tell_of_bus(const RuleTask& task, const Options& options, Report& report) {
  const Bus bus(key_bytes_of(task.fields), sizeof(std::uint32_t));
  report.compare(fmt::format("{}: headers there and answers back, and nothing else", task.name), "M headers/s",
                 interleave({{"the bus", [&bus] { return bus.rate(); }, Role::limit, ""}}, options.rounds), "");
}

template <class Classify>
double millions_a_second(Classify classify) {
  const double begin = now();
  classify();
  return static_cast<double>(kHeaders) / (now() - begin) * 1e-6;
}

/// Compares the shader with the published design, on data that the GPU has, and with copies.
void compare_with_published(const RuleTask& task, const std::vector<std::uint32_t>& right, RuleWork& work,
                            std::optional<double> by_cuda, const Options& options, Report& report) {
  const ShaderOnGpu shader(work, kHeaders);
  shader.check_lookups();
  const cuda::Kernel one_source = bloom_of_one_source();
  shader.check_lookups(&one_source);
  const PublishedRules published(task, kPublishedBatch, options.seed);
  std::vector<Contender> there{
      {"bloom by cuda", [&] { return millions_a_second([&] { shader.lookups(1); }); }, Role::ours, ""},
      {"the one source", [&] { return millions_a_second([&] { shader.lookups(1, &one_source); }); }, Role::ours, ""}};
  std::vector<Contender> copied;
  for (const unsigned threads : kPublishedThreads) {
    const auto name = [&](const char* search) {
      return fmt::format("{}, {}, {} threads", kPublished, search, threads);
    };
    for (const bool with_filter : {false, true}) {
      published.check(right, with_filter, threads);
      there.push_back({name(with_filter ? "bloom" : "tuple"),
                       [&published, with_filter, threads] {
                         return millions_a_second([&] {
                           published.classify(with_filter, threads);
                           published.wait();
                         });
                       },
                       Role::rival, ""});
    }
    copied.push_back(
        {name("bloom"),
         [&published, threads] { return millions_a_second([&] { published.classify_with_copies(threads); }); },
         Role::rival, ""});
  }
  report.checked(fmt::format("{}: every answer of the published design in {} blocks", task.name, published.classes()));
  report.compare(fmt::format("{}: bloom on data already there", task.name), "M headers/s",
                 interleave(there, options.rounds), there.front().name);
  const std::vector<Series> series = interleave(copied, options.rounds);
  report.compare(fmt::format("{}: the published design, copies included", task.name), "M headers/s", series, "");
  double best = 0;
  for (const Series& each : series) best = std::max(best, spread(each.samples).median);
  if (by_cuda) kBloomOverPublished.tell(report, *by_cuda / best);
}

void measure_many_rules(const Options& options, Report& report) {
  const RuleTask task = many_rules(options);
  report.input(task.name,
               fmt::format("generated, seed {}; headers drawn from the rules, in random order", options.seed));
  tell_of_bus(task, options, report);
  const std::vector<std::uint32_t> right = right_answers(task, options.seed);
  {
    RuleWork tuple("tuple", options.seed, task, right);
    measure_all("tuple", task, tuple, options, report);
  }
  RuleWork bloom("bloom", options.seed, task, right);
  const auto by_cuda = measure_all("bloom", task, bloom, options, report);
  if (by_cuda) kBloomRate.tell(report, *by_cuda);
  if (!by_cuda) {
    for (const Bar* bar : {&kBloomRate, &kBloomOverPublished}) report.bar_not_shown(bar->what, kNoCuda);
  }
  compare_with_published(task, right, bloom, by_cuda, options, report);
}

/// Returns the rate on `cuda` of the fastest structure; none if the engine is not available.
std::optional<double> measure_few_rules(const RuleTask& task, const Options& options, Report& report) {
  report.input(task.name, fmt::format("{} rules; headers drawn from them, in random order", task.rules.size()));
  tell_of_bus(task, options, report);
  const std::vector<std::uint32_t> right = right_answers(task, options.seed);
  std::optional<double> most;
  for (const RuleStructure& structure : rule_structures()) {
    if (structure.name == "linear") continue;
    RuleWork work(structure.name, options.seed, task, right);
    const auto by_cuda = measure_all(structure.name, task, work, options, report);
    if (by_cuda) most = std::max(most.value_or(0), *by_cuda);
  }
  return most;
}

void measure_few_rules(const Options& options, Report& report) {
  double product = 1;
  std::size_t sets = 0;
  for (const RuleTask& task : tasks_of_5_fields(options)) {
    const auto most = measure_few_rules(task, options, report);
    if (!most || options.rules.empty() || task.rules.size() > kFewRulesAtMost) continue;
    product *= *most;
    ++sets;
  }
  if (sets == 0) {
    report.bar_not_shown(kFewRulesRate.what, "no such sets were given (--rules)");
  } else {
    kFewRulesRate.tell(report, std::pow(product, 1.0 / static_cast<double>(sets)));
  }
}

}  // namespace

void measure_classification(const Options& options, Report& report) {
  measure_many_rules(options, report);
  measure_few_rules(options, report);
}

}  // namespace penumbra::bench::gpu
