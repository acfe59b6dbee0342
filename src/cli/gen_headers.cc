// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/gen.h"
#include "cli/output.h"
#include "control/rules/header_generator.h"
#include "control/rules/rule_file.h"
#include "io/output_file.h"

namespace penumbra::cli {
namespace {

struct HeadersOptions {
  std::uint64_t count = 1'000'000;
  std::string rules, inside, output = kStandardOutput;
  double hit_percent = 100;
  control::rules::HeaderGeneratorOptions headers;
};

void generate(const HeadersOptions& options) {
  for (const std::string& input : {options.rules, options.inside}) {
    if (!input.empty() && io::same_file(input, options.output)) {
      throw Failure(ExitCode::usage, fmt::format("{} is read, and cannot be written too", options.output));
    }
  }
  const auto list = control::rules::read_rules(options.rules);
  const auto inside_list = options.inside.empty() ? list : control::rules::read_rules(options.inside);
  if (inside_list.fields != list.fields) {
    throw Failure(ExitCode::bad_input, fmt::format("{} and {} have different fields", options.rules, options.inside));
  }
  std::vector<RuleMatch> inside;
  inside.reserve(inside_list.rules.size());
  for (const Rule& rule : inside_list.rules) inside.push_back(rule.match);
  auto headers = options.headers;
  headers.hit_share = options.hit_percent / 100;
  try {
    control::rules::HeaderGenerator generator(list.fields, list.rules, inside, headers);
    write_file(options.output, [&](std::ostream& out) {
      for (std::uint64_t i = 0; i < options.count; ++i) {
        const auto header = generator.next();
        out << control::rules::header_line(list.fields, header.key, header.drawn_from);
      }
    });
  } catch (const std::invalid_argument& error) {
    throw Failure(ExitCode::bad_input, fmt::format("{}: {}", options.rules, error.what()));
  }
}

}  // namespace

void set_up_gen_headers(CLI::App& command) {
  const auto options = std::make_shared<HeadersOptions>();
  command.add_option("--rules", options->rules, "The rules: a ClassBench file, or flows of ovs-ofctl")
      ->required()
      ->type_name("FILE");
  command
      .add_option(
          "--inside", options->inside,
          "Headers that match are drawn inside these rules, such as gen rules --overlaps writes; inside --rules "
          "if not given")
      ->type_name("FILE");
  command.add_option("--count", options->count, "How many headers")
      ->transform(as_count())
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--hits", options->hit_percent, "Percentage of headers that a rule matches")
      ->check(CLI::Range(0.0, 100.0).description(""))
      ->type_name("PERCENT")
      ->capture_default_str();
  command
      .add_option(
          "--locality", options->headers.locality,
          "0 to 1: how often a header comes again at once, the scale of a Pareto distribution (0.0001 is little, "
          "1 much)")
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->type_name("SCALE")
      ->capture_default_str();
  command.add_option("--seed", options->headers.seed, "Another seed gives other headers")
      ->check(as_seed())
      ->type_name("N")
      ->capture_default_str();
  command.add_option("-o,--output", options->output, "Where the headers go; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  command.callback([options] { generate(*options); });
}

}  // namespace penumbra::cli
