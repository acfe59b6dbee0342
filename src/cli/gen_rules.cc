// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/gen.h"
#include "cli/output.h"
#include "control/rules/classbench.h"
#include "control/rules/flow_syntax.h"
#include "control/rules/openflow10.h"
#include "control/rules/rule_generator.h"
#include "io/output_file.h"

namespace penumbra::cli {
namespace {

namespace rules = control::rules;

struct RulesOptions {
  rules::RuleGeneratorOptions set;
  std::optional<std::uint32_t> full_classes;
  std::string fields = "12", rules_file = kStandardOutput, overlaps_file;
  bool ipv6 = false;
};

/// The output ports of the flows, assigned in turn.
constexpr std::uint32_t kOutputs = 48;

void write_flows(std::ostream& out, const std::vector<Rule>& matches, bool with_outputs) {
  rules::FlowList flows;
  for (std::uint32_t port = 1; with_outputs && port <= kOutputs; ++port) {
    flows.action_lists.push_back({{.kind = rules::FlowAction::Kind::output, .value = port, .more = 0}});
  }
  if (!with_outputs) flows.action_lists.emplace_back();
  for (const Rule& rule : matches) {
    flows.flows.push_back({.match = rules::from_openflow10(rule.match),
                           .priority = rule.priority,
                           .line = 0,
                           .actions = static_cast<std::uint32_t>(flows.flows.size() % flows.action_lists.size())});
  }
  rules::write_flows(out, flows);
}

void write_rules(const std::string& file, RuleFields fields, const std::vector<Rule>& list, bool with_outputs) {
  write_file(file, [&](std::ostream& out) {
    if (fields == RuleFields::openflow) return write_flows(out, list, with_outputs);
    rules::write_classbench(out, fields, list);
  });
}

void generate(const RulesOptions& options) {
  if (!options.overlaps_file.empty() && io::same_file(options.rules_file, options.overlaps_file)) {
    throw Failure(ExitCode::usage, fmt::format("rules and overlaps cannot both go to {}", options.rules_file));
  }
  auto set = options.set;
  if (options.fields == "5") set.fields = options.ipv6 ? RuleFields::ipv6 : RuleFields::ipv4;
  if (options.fields == "12" && options.ipv6) {
    throw CLI::ValidationError("--ipv6", "OpenFlow's 12 fields have no addresses of IPv6; ask for --fields 5");
  }
  set.full_classes = options.full_classes.value_or(set.classes);
  auto made = [&set] {
    try {
      return rules::generate_rules(set);
    } catch (const std::invalid_argument& error) {
      throw CLI::ValidationError(error.what());
    }
  }();
  write_rules(options.rules_file, set.fields, made.rules, true);
  if (options.overlaps_file.empty()) return;
  std::vector<Rule> overlaps;
  overlaps.reserve(made.overlaps.size());
  for (const RuleMatch& match : made.overlaps) overlaps.push_back({.match = match, .priority = 0});
  write_rules(options.overlaps_file, set.fields, overlaps, false);
}

}  // namespace

void set_up_gen_rules(CLI::App& command) {
  const auto options = std::make_shared<RulesOptions>();
  auto& set = options->set;
  command.add_option("--fields", options->fields, "5: ClassBench's rules; 12: OpenFlow's, as flows of ovs-ofctl")
      ->check(one_of({"5", "12"}))
      ->capture_default_str();
  command.add_flag("-6,--ipv6", options->ipv6, "Addresses of IPv6, with --fields 5");
  command.add_option("--count", set.rules, "How many rules, up to 1M")
      ->transform(as_count())
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--classes", set.classes, "How many different masks")
      ->transform(as_count())
      ->type_name("C")
      ->capture_default_str();
  command
      .add_option("--full-classes", options->full_classes,
                  "So many classes share all rules evenly, but for one in each other class; all classes if not given")
      ->transform(as_count())
      ->type_name("F");
  command
      .add_option("--matching-classes", set.matching_classes,
                  "How many classes match one header, where they meet (--overlaps)")
      ->transform(as_count())
      ->type_name("CM")
      ->capture_default_str();
  command.add_option("--seed", set.seed, "Another seed gives other rules")
      ->check(as_seed())
      ->type_name("N")
      ->capture_default_str();
  command.add_option("-o,--output", options->rules_file, "Where the rules go; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  command
      .add_option("--overlaps", options->overlaps_file,
                  "Write where rules of that many classes meet to this file, as rules (gen headers --inside)")
      ->type_name("FILE");
  command.callback([options] { generate(*options); });
}

}  // namespace penumbra::cli
