// SPDX-License-Identifier: Apache-2.0
//
// `penumbra-bench list`, `penumbra-bench run` and `penumbra-bench all`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "bench.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/version.h"

namespace penumbra::cli {
namespace {

bool has_gpu() {
  return std::ranges::any_of(engines_here(), [](const EngineInfo* engine) { return engine->name == "cuda"; });
}

std::string text_of(const bench::Benchmark& benchmark, bool has_gpu) {
  const std::string also = benchmark.also.empty() ? "" : " (" + benchmark.also + ")";
  std::string text =
      fmt::format("{:<5} {:<16} {} (about {:.0f} s", fmt::format("{}", fmt::join(benchmark.measurements, " ")),
                  benchmark.name + also, benchmark.measures, bench::cost_here(benchmark, has_gpu).of(bench::kRounds));
  if (!benchmark.needs.empty()) text += "; needs " + benchmark.needs;
  text += ")\n";
  if (benchmark.probe == nullptr) return text;
  const Availability found = benchmark.probe();
  return found.available ? text : text + fmt::format("{:<22} not here: {}\n", "", found.reason);
}

nlohmann::ordered_json json_of(const bench::Benchmark& benchmark, bool has_gpu) {
  nlohmann::ordered_json json{{"measurements", benchmark.measurements},
                              {"name", benchmark.name},
                              {"also", nullptr},
                              {"measures", benchmark.measures},
                              {"seconds", bench::cost_here(benchmark, has_gpu).of(bench::kRounds)},
                              {"needs", benchmark.needs},
                              {"not_here", nullptr}};
  if (!benchmark.also.empty()) json["also"] = benchmark.also;
  if (benchmark.probe == nullptr) return json;
  const Availability found = benchmark.probe();
  if (!found.available) json["not_here"] = found.reason;
  return json;
}

void print_list(bool json) {
  const bool on_gpu = has_gpu();
  if (json) {
    auto list = nlohmann::ordered_json::array();
    for (const bench::Benchmark& benchmark : bench::benchmarks()) list.push_back(json_of(benchmark, on_gpu));
    const nlohmann::ordered_json answer{{"benchmarks", std::move(list)}};
    return write_output(answer.dump(2) + "\n");
  }
  for (const bench::Benchmark& benchmark : bench::benchmarks()) write_output(text_of(benchmark, on_gpu));
}

void run(const bench::Options& options) {
  bench::Outcome outcome{};
  try {
    outcome = bench::run(options, version_text(), write_output);
  } catch (const std::invalid_argument& error) {
    throw Failure(ExitCode::usage, error.what());
  } catch (const std::system_error& error) {
    throw Failure(ExitCode::failure, error.what());
  }
  if (outcome == bench::Outcome::failed) throw Failure(ExitCode::failure, "a benchmark failed");
  if (outcome == bench::Outcome::bar_missed) throw Failure(ExitCode::mismatch, "a bar is missed");
}

/// Returns the valid names: numbers of measurements, and benchmarks.
std::vector<std::string> names() {
  std::vector<std::string> result;
  const auto add = [&result](const std::string& name) {
    if (!name.empty() && std::ranges::find(result, name) == result.end()) result.push_back(name);
  };
  for (const bench::Benchmark& benchmark : bench::benchmarks()) std::ranges::for_each(benchmark.measurements, add);
  for (const bench::Benchmark& benchmark : bench::benchmarks()) add(benchmark.name);
  return result;
}

void set_up_list(CLI::App& command) {
  const auto json = std::make_shared<bool>(false);
  add_json_flag(command, *json);
  command.callback([json] { print_list(*json); });
}

/// Adds the options that `run` and `all` share, and the callback.
void set_up_measuring(CLI::App& command, const std::shared_ptr<bench::Options>& options) {
  command
      .add_option("--routes", options->routes, "A route file in place of a generated table, for what looks routes up")
      ->type_name("FILE");
  command
      .add_option("--rules", options->rules,
                  "A ClassBench file of rules in place of generated ones; more of them one by one (classify)")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  auto* const rounds = command.add_option("--rounds", options->rounds, "Measured rounds of each comparison")
                           ->check(CLI::Range(1U, 1000U))
                           ->capture_default_str();
  command
      .add_option(
          "--budget", options->budget,
          "The time for all of it: rounds are as many as fit, up to 7, and what has no time for one is left out, first "
          "what is no measurement of the papers")
      ->transform(as_seconds())
      ->excludes(rounds);
  command
      .add_option("-o,--output", options->output,
                  "A file for the document of results; what it holds already is not measured again")
      ->type_name("FILE");
  command.add_option("--seed", options->seed, "Of all generated tables and traffic")
      ->check(as_seed())
      ->capture_default_str();
  command.add_flag("--large", options->large,
                   "Larger tables too, which take much memory and time (flows: 48 and 100 million)");
  add_json_flag(command, options->json);
  command.callback([options] {
    if (options->output == kStandardOutput) {
      throw Failure(ExitCode::usage, "-o takes a file; --json prints the document");
    }
    run(*options);
  });
}

void set_up_run(CLI::App& command) {
  const auto options = std::make_shared<bench::Options>();
  command
      .add_option("NAME", options->names, "Measurements of the papers (E6) and benchmarks (gopt): penumbra-bench list")
      ->check(one_of(names()))
      ->required();
  set_up_measuring(command, options);
}

void set_up_all(CLI::App& command) {
  const auto options = std::make_shared<bench::Options>();
  options->names = {bench::kAll};
  set_up_measuring(command, options);
}

const bool kBenchCommands =
    register_command({"list", "List the benchmarks, what each needs and how long it takes", set_up_list}) &&
    register_command({"run", "Measure next to the rivals; every answer is checked", set_up_run}) &&
    register_command({"all", "Measure everything that fits into a budget of time", set_up_all});

}  // namespace
}  // namespace penumbra::cli
