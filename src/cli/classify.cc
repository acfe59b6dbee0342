// SPDX-License-Identifier: Apache-2.0
//
// `penumbra classify --rules FILE`: the winning rules for headers on standard input.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/engine_choice.h"
#include "cli/input_lines.h"
#include "cli/output.h"
#include "control/rules/rule_file.h"
#include "penumbra/engine.h"
#include "penumbra/errors.h"
#include "tables/rules/rule_choice.h"
#include "tables/rules/rule_lookup.h"
#include "tables/rules/rule_set.h"
#include "tables/rules/rule_structures.h"

namespace penumbra::cli {
namespace {

using control::rules::RuleList;

struct ClassifyOptions {
  std::string rules, shader = kAuto, engine = kAuto;
  bool check = false, json = false;
};

/// The rules in a table of the chosen structure, on the chosen engine.
class Classifier {
 public:
  explicit Classifier(const ClassifyOptions& options)
      : list_(control::rules::read_rules(options.rules)), set_(list_.fields, grace_periods_), check_(options.check) {
    const std::uint64_t seed = std::random_device{}();
    const std::string structure = options.shader == kAuto
                                      ? measure_rule_structures(list_.fields, list_.rules, seed).front().structure
                                      : options.shader;
    table_ = make_rule_table(structure, list_.fields, seed, grace_periods_);
    set_.feed(*table_);
    for (const Rule& rule : list_.rules) set_.add(rule);
    set_.commit();
    engine_ = create_engine_for_one_batch(options.engine, table_->shader());
    lookup_ = std::make_unique<RuleLookup>(*table_, *engine_);
  }

  RuleFields fields() const { return list_.fields; }

  /// Returns the line of each header's winning rule in the file; 0 if no rule matches.
  std::vector<std::uint32_t> lines_of(const std::vector<RuleWords>& headers) {
    std::vector<std::uint32_t> numbers = lookup_->find(RuleKeys(fields(), headers));
    for (std::size_t i = 0; i < headers.size(); ++i) {
      if (check_ && set_.best(headers[i]) != numbers[i]) {
        throw Failure(ExitCode::mismatch,
                      fmt::format("header {}: the shader says {}, linear search {}", checked_ + i + 1,
                                  line_of(numbers[i]), line_of(set_.best(headers[i]))));
      }
      numbers[i] = line_of(numbers[i]);
    }
    checked_ += headers.size();
    return numbers;
  }

 private:
  /// Rules are numbered in the order in which they were added.
  std::uint32_t line_of(std::uint32_t number) const { return number == 0 ? 0 : list_.lines[number - 1]; }

  const RuleList list_;
  NoReaders grace_periods_;
  std::unique_ptr<RuleTable> table_;
  RuleSet set_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RuleLookup> lookup_;
  const bool check_;
  std::size_t checked_ = 0;
};

void print(Classifier& classifier, const std::vector<RuleWords>& headers, bool json) {
  std::string text;
  for (const std::uint32_t line : classifier.lines_of(headers)) {
    const std::string answer = line == 0 ? (json ? "null" : "-") : std::to_string(line);
    text += json ? fmt::format("{{\"line\":{}}}\n", answer) : answer + "\n";
  }
  write_output(text);
  flush_output();
}

void classify(const ClassifyOptions& options) {
  const std::string input_name = "-";
  Classifier classifier(options);
  InputLines input(STDIN_FILENO);
  std::vector<RuleWords> headers;
  int number = 0;
  for (auto* lines = &input.next(); !lines->empty(); lines = &input.next()) {
    headers.clear();
    for (const auto text : *lines) {
      control::Line line(&input_name, ++number, text.substr(0, text.find('#')));
      if (line.peek().empty()) continue;
      try {
        headers.push_back(control::rules::parse_header(line, classifier.fields()));
      } catch (const InputError&) {
        print(classifier, headers, options.json);
        throw;
      }
    }
    print(classifier, headers, options.json);
  }
}

void set_up_classify(CLI::App& command) {
  const auto options = std::make_shared<ClassifyOptions>();
  command.add_option("--rules", options->rules, "The rules: a ClassBench filter file, or flows of ovs-ofctl")
      ->required()
      ->type_name("FILE");
  std::vector<std::string> structures{kAuto};
  for (const auto& structure : rule_structures()) structures.push_back(structure.name);
  command.add_option("--shader", options->shader, "How rules are searched; auto tries which way is fastest with these")
      ->check(one_of(structures))
      ->type_name("SHADER")
      ->capture_default_str();
  command.add_option("--engine", options->engine, "Where the search runs")
      ->check(as_engine())
      ->type_name("ENGINE")
      ->capture_default_str();
  command.add_flag("--check", options->check, "Compare every answer with linear search, which is slow");
  add_json_flag(command, options->json);
  command.footer(
      "Headers are read from standard input, one a line: of a ClassBench trace, whose first five columns count, or,\n"
      "for flows, keys as ovs-ofctl has them. Empty lines and # comments are skipped. Prints for each the line number\n"
      "in FILE of the rule that wins, or `-` if none matches; with -j a JSON object.");
  command.callback([options] { classify(*options); });
}

const bool kClassifyCommand =
    register_command({"classify", "Find the rules of a file that headers match", set_up_classify});

}  // namespace
}  // namespace penumbra::cli
