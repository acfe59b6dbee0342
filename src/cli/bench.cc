// SPDX-License-Identifier: Apache-2.0
//
// `penumbra bench`.
#include "bench.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/version.h"

namespace penumbra::cli {
namespace {

void print_list(bool json) {
  if (json) {
    auto list = nlohmann::ordered_json::array();
    for (const bench::Benchmark& benchmark : bench::benchmarks()) {
      list.push_back({{"name", benchmark.name},
                      {"measures", benchmark.measures},
                      {"seconds", benchmark.seconds},
                      {"needs", benchmark.needs}});
    }
    return write_output(list.dump(2) + "\n");
  }
  for (const bench::Benchmark& benchmark : bench::benchmarks()) {
    write_output(fmt::format("{:<10} {} (about {} s{}{})\n", benchmark.name, benchmark.measures, benchmark.seconds,
                             benchmark.needs.empty() ? "" : "; needs ", benchmark.needs));
  }
}

void run(const bench::Options& options) {
  bench::Outcome outcome{};
  try {
    outcome = bench::run(options, version_text());
  } catch (const std::invalid_argument& error) {
    throw Failure(ExitCode::usage, error.what());
  }
  if (outcome == bench::Outcome::failed) throw Failure(ExitCode::failure, "a benchmark failed");
  if (outcome == bench::Outcome::bar_missed) throw Failure(ExitCode::mismatch, "a bar is missed");
}

void set_up_bench(CLI::App& command) {
  struct Arguments {
    bench::Options options;
    bool list = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  std::vector<std::string> names;
  for (const bench::Benchmark& benchmark : bench::benchmarks()) names.push_back(benchmark.name);
  command.add_option("NAME", arguments->options.names, "Which benchmarks to run; all of them if none is named")
      ->check(one_of(names));
  command.add_flag("-l,--list", arguments->list, "Say what benchmarks there are and how long they take");
  command
      .add_option("--routes", arguments->options.routes,
                  "A route file in place of the generated table (lookup, lookup6, table)")
      ->type_name("FILE");
  command
      .add_option("--rules", arguments->options.rules,
                  "A ClassBench file of rules in place of generated ones; more of them one by one (classify)")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--rounds", arguments->options.rounds, "Measured rounds of each comparison")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  command.add_option("--seed", arguments->options.seed, "Of all generated tables and traffic")
      ->check(as_seed())
      ->capture_default_str();
  command.add_flag("--large", arguments->options.large,
                   "Larger tables too, which take much memory and time (flows: 48 and 100 million)");
  add_json_flag(command, arguments->options.json);
  command.callback([arguments] {
    if (arguments->list) {
      print_list(arguments->options.json);
    } else {
      run(arguments->options);
    }
  });
}

const bool kBenchCommand =
    register_command({"bench", "Measure beside the rivals; every answer is checked", set_up_bench});

}  // namespace
}  // namespace penumbra::cli
