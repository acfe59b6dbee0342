// SPDX-License-Identifier: Apache-2.0
//
// `penumbra ids check` reads rules of Suricata and reports each rule that is not understood. `penumbra ids -r CAPTURE`
// evaluates rules on a capture.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/ids_capture.h"
#include "cli/output.h"
#include "functions/ids/detect/compiled_rules.h"
#include "functions/ids/rules/rule_set.h"
#include "functions/ids/rules/suricata_yaml.h"

namespace penumbra::cli {
namespace {

struct IdsCheckOptions {
  std::vector<std::string> rules;
  std::string config;
  bool json = false;
};

struct IdsCaptureOptions {
  std::string capture, folder = ".";
  IdsCheckOptions rules;
  bool midstream = false, one_sided = false, simulates_ips = false;
};

std::map<std::string, std::size_t> by_reason(const ids::RuleSet& set) {
  std::map<std::string, std::size_t> counts;
  for (const ids::RefusedRule& rule : set.refused()) ++counts[rule.reason];
  return counts;
}

/// The numbers of rules that need packets, streams and applications.
struct NeedCounts {
  std::size_t packet = 0, stream = 0, application = 0;
};
NeedCounts needs_of(const ids::RuleSet& set) {
  NeedCounts counts;
  for (const ids::Rule& rule : set.rules()) {
    switch (rule.needs()) {
      case ids::Needs::packet:
        ++counts.packet;
        break;
      case ids::Needs::stream:
        ++counts.stream;
        break;
      case ids::Needs::application:
        ++counts.application;
        break;
    }
  }
  return counts;
}

nlohmann::ordered_json to_json(const ids::RuleSet& set, const std::vector<std::string>& warnings) {
  nlohmann::ordered_json refused = nlohmann::ordered_json::array();
  for (const ids::RefusedRule& rule : set.refused()) {
    nlohmann::ordered_json entry;
    entry["sid"] = rule.sid ? nlohmann::ordered_json(*rule.sid) : nlohmann::ordered_json();
    entry["reason"] = rule.reason;
    entry["file"] = rule.place.file;
    entry["line"] = rule.place.line;
    entry["column"] = rule.place.column;
    entry["message"] = rule.message;
    refused.push_back(std::move(entry));
  }
  const NeedCounts needs = needs_of(set);
  return {{"taken", set.rules().size()},
          {"refused", set.refused().size()},
          {"disabled", set.disabled()},
          {"files", set.files().size()},
          {"needs", {{"packet", needs.packet}, {"stream", needs.stream}, {"application", needs.application}}},
          {"reasons", by_reason(set)},
          {"refusals", std::move(refused)},
          {"warnings", warnings}};
}

std::string to_text(const ids::RuleSet& set) {
  std::string text;
  for (const ids::RefusedRule& rule : set.refused()) {
    text += rule.sid ? fmt::format("sid {}: {}\n", *rule.sid, rule.text()) : fmt::format("no sid: {}\n", rule.text());
  }
  if (!text.empty()) text += '\n';
  const NeedCounts needs = needs_of(set);
  text += fmt::format("{:>8}  rules taken\n", set.rules().size());
  text += fmt::format("{:>8}    need packets only\n", needs.packet);
  text += fmt::format("{:>8}    need streams\n", needs.stream);
  text += fmt::format("{:>8}    need the protocol of an application\n", needs.application);
  text += fmt::format("{:>8}  rules in comments\n", set.disabled());
  text += fmt::format("{:>8}  rules refused\n", set.refused().size());
  for (const auto& [reason, count] : by_reason(set)) text += fmt::format("{:>8}    {}\n", count, reason);
  return text;
}

/// Loads the rules of the command line or of the configuration, which is stored in `yaml`. Adds warnings.
ids::RuleSet load_rules(const IdsCheckOptions& options, std::vector<std::string>& warnings, ids::SuricataYaml& yaml) {
  if (!options.config.empty()) {
    yaml = ids::read_suricata_yaml(options.config);
    if (!yaml.warning.empty()) warnings.push_back(yaml.warning);
  }
  ids::RuleSetOptions files = yaml.options;
  if (!options.rules.empty()) files.rules.assign(options.rules.begin(), options.rules.end());
  if (files.rules.empty()) {
    throw Failure(ExitCode::usage, "no rules: name files or folders, or a configuration with 'rule-files'");
  }
  ids::RuleSet set = ids::RuleSet::load(files);
  warnings.insert(warnings.end(), set.warnings().begin(), set.warnings().end());
  return set;
}

void check_rules(const IdsCheckOptions& options) {
  std::vector<std::string> warnings;
  ids::SuricataYaml yaml;
  const ids::RuleSet set = load_rules(options, warnings, yaml);
  for (const std::string& warning : warnings) fmt::print(stderr, "{}\n", warning);
  write_output(options.json ? to_json(set, warnings).dump() + "\n" : to_text(set));
  if (!set.refused().empty()) throw Failure(ExitCode::bad_input, "");
}

/// Refused rules are reported, and the others evaluated.
void run_on_capture(const IdsCaptureOptions& options) {
  std::vector<std::string> warnings;
  ids::SuricataYaml yaml;
  ids::RuleSet set = load_rules(options.rules, warnings, yaml);
  for (const ids::RefusedRule& rule : set.refused()) fmt::print(stderr, "rule refused: {}\n", rule.text());
  for (const std::string& warning : warnings) fmt::print(stderr, "{}\n", warning);
  CaptureSettings settings;
  settings.streams = std::move(yaml.streams);
  if (yaml.tunnels) settings.tunnels = *std::move(yaml.tunnels);
  settings.streams.options.midstream |= options.midstream;
  settings.streams.options.one_sided |= options.one_sided;
  const bool is_ips = settings.simulates_ips = options.simulates_ips;
  settings.exceptions = ids::ExceptionPolicies::defaults(is_ips);
  yaml.exceptions.apply(is_ips, settings.streams.options.midstream, settings.exceptions);
  settings.fragments = yaml.exceptions.of_fragments(is_ips);
  if (const auto memory = yaml.exceptions.fragment_memory()) {
    settings.reassembly.memory = *memory;
    try {
      Reassembly::check(settings.reassembly);
    } catch (const std::invalid_argument& error) {
      throw Failure(ExitCode::bad_input, fmt::format("{}: defrag.memcap: {}", options.rules.config, error.what()));
    }
  }
  const ids::CompiledRules rules(std::move(set), ids::Needs::application);
  inspect_capture(options.capture, rules, settings, options.folder);
}

void set_up_check_rules(CLI::App& command) {
  const auto options = std::make_shared<IdsCheckOptions>();
  command.add_option("RULES", options->rules, "Files of rules, or folders with files *.rules")->type_name("FILE");
  command.add_option("-c,--config", options->config, "A suricata.yaml: variables, and rules if no RULES are given")
      ->type_name("FILE");
  add_json_flag(command, options->json);
  command.footer(
      "Prints each rule that is refused with its sid, its place and the word that was not understood, then counts by\n"
      "reason. A folder may have classification.config, reference.config and threshold.config. The exit code is 3 if\n"
      "a rule is refused.");
  command.callback([options] { check_rules(*options); });
}

void set_up_ids(CLI::App& command) {
  command.require_subcommand(0, 1);
  CLI::App* const check = command.add_subcommand("check", "Check rules of Suricata");
  set_up_check_rules(*check);
  const auto options = std::make_shared<IdsCaptureOptions>();
  command.add_option("-r,--read", options->capture, "The capture to read, or a folder of captures")->type_name("FILE");
  command.add_option("-S,--rules", options->rules.rules, "Files of rules, or folders with files *.rules")
      ->type_name("FILE");
  command.add_option("-c,--config", options->rules.config, "A suricata.yaml: variables, and rules if there is no -S")
      ->type_name("FILE");
  command.add_option("-l,--log-dir", options->folder, "The folder in which eve.json is written")
      ->type_name("FOLDER")
      ->capture_default_str();
  command.add_flag("--midstream", options->midstream, "Follow connections whose SYN the capture lacks");
  command.add_flag("--one-sided", options->one_sided, "Follow connections of which the capture has one direction");
  command.add_flag("--simulate-ips", options->simulates_ips, "Inspect and drop as an inline system does");
  command.footer(
      "Evaluates rules on packets, on the streams of TCP and on the messages of HTTP, DNS, TLS and SSH. Writes "
      "alerts,\n"
      "flows, messages and anomalies as Suricata's events.");
  command.callback([options, check] {
    if (check->parsed()) return;
    if (options->capture.empty()) throw Failure(ExitCode::usage, "-r names the capture; or use: penumbra ids check");
    run_on_capture(*options);
  });
}

const bool kIdsCommand =
    register_command({"ids", "Detect intrusions in a capture by rules of Suricata, or check rules", set_up_ids});

}  // namespace
}  // namespace penumbra::cli
