// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/rule_set.h"

#include <algorithm>
#include <functional>
#include <set>
#include <system_error>

#include "base/text_file.h"
#include "functions/ids/rules/parser.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

namespace fs = std::filesystem;

void add_if_there(const fs::path& file, std::vector<fs::path>& files) {
  std::error_code ignored;
  if (fs::is_regular_file(file, ignored)) files.push_back(file);
}

/// Adds the files of a folder in the order of their names.
void search(const fs::path& folder, RuleSetOptions& found) {
  std::vector<fs::path> rules;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".rules" && entry.is_regular_file()) rules.push_back(entry.path());
  }
  std::ranges::sort(rules);
  found.rules.insert(found.rules.end(), rules.begin(), rules.end());
  add_if_there(folder / "classification.config", found.classifications);
  add_if_there(folder / "reference.config", found.references);
  add_if_there(folder / "threshold.config", found.thresholds);
}

/// Replaces folders by the files in them.
RuleSetOptions with_files(const RuleSetOptions& options) {
  RuleSetOptions found = options;
  found.rules.clear();
  for (const fs::path& path : options.rules) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      found.rules.push_back(path);
      continue;
    }
    const std::size_t before = found.rules.size();
    search(path, found);
    if (fs::is_directory(path / "rules", ignored)) search(path / "rules", found);
    if (found.rules.size() == before) {
      throw InputError({path.string(), 0, 0}, "folder has no files *.rules, also not in its folder 'rules'");
    }
  }
  return found;
}

}  // namespace

RuleSet RuleSet::load(const RuleSetOptions& options) {
  const RuleSetOptions files = with_files(options);
  RuleSet set;
  HeaderSets sets(files.variables);
  std::string context;
  const auto read_context = [&context](const fs::path& file) {
    std::string text = read_text_file(file);
    context += text + '\0';
    return text;
  };
  for (const auto* const group : {&files.variables.addresses, &files.variables.ports}) {
    for (const auto& [name, value] : *group) context.append(name).append(1, '=').append(value).append(1, '\0');
  }
  for (const fs::path& file : files.classifications) {
    read_classifications(read_context(file), file.string(), set.classifications_);
  }
  for (const fs::path& file : files.references) read_references(read_context(file), file.string(), set.references_);
  for (const fs::path& file : files.thresholds) {
    for (ThresholdEntry& entry : read_threshold_file(read_context(file), file.string(), sets)) {
      set.thresholds_.push_back(std::move(entry));
    }
  }
  set.action_order_ = files.action_order;
  for (const Action action : files.action_order) context += static_cast<char>(action);
  set.context_digest_ = std::hash<std::string>()(context);
  for (const fs::path& file : files.rules) {
    set.read(read_text_file(file), file.string(), sets);
    set.files_.push_back(file);
  }
  if (!set.classifications_.empty()) set.warn_of_classes();
  set.warn_of_flowbits();
  return set;
}

void RuleSet::read(std::string_view text, const std::string& name, HeaderSets& sets) {
  LineJoiner lines(name, text);
  while (const auto source = lines.next()) {
    try {
      Rule rule = parse_rule(*source, sets);
      rule.digest = std::hash<std::string_view>()(source->text());
      add(std::move(rule));
    } catch (const RuleError& error) {
      refuse(*source, error);
    }
  }
  disabled_ += lines.disabled();
}

void RuleSet::add(Rule rule) {
  const auto [known, is_new] = by_sid_.try_emplace({rule.gid, rule.sid}, rules_.size());
  if (is_new) {
    rules_.push_back(std::move(rule));
    return;
  }
  // The greater revision counts.
  Rule& present = rules_[known->second];
  if (rule.rev > present.rev) std::swap(rule, present);
  const std::string reason = "rule with the sid of another rule";
  const std::string message = reason + ": " + present.place.file + ":" + std::to_string(present.place.line);
  refused_.push_back({rule.sid, reason, rule.place, message});
}

void RuleSet::refuse(const RuleSource& source, const RuleError& error) {
  refused_.push_back({find_sid(source), error.reason(), error.location(), error.message()});
}

void RuleSet::warn_of_classes() {
  std::set<std::string_view> unknown;
  for (const Rule& rule : rules_) {
    if (rule.class_type.empty() || classifications_.contains(lower(rule.class_type))) continue;
    if (!unknown.insert(rule.class_type).second) continue;
    const std::string message =
        "classtype " + quote(rule.class_type) + " is in no classification file, its priority is 3";
    warnings_.emplace_back(InputError(rule.place, message).what());
  }
}

void RuleSet::warn_of_flowbits() {
  std::set<std::string_view> changed;
  for (const Rule& rule : rules_) {
    for (const BitCommand& command : rule.bits) {
      if (command.scope != BitCommand::Scope::flow || command.is_test()) continue;
      if (command.kind != BitCommand::Kind::unset) changed.insert(command.names.begin(), command.names.end());
    }
  }
  for (const Rule& rule : rules_) {
    for (const BitCommand& command : rule.bits) {
      if (command.scope != BitCommand::Scope::flow || command.kind != BitCommand::Kind::is_set) continue;
      const bool some = std::ranges::any_of(command.names, [&](const auto& name) { return changed.contains(name); });
      if (some) continue;
      const std::string message = "no rule sets the flowbit " + quote(command.names.front()) + " that rule " +
                                  std::to_string(rule.sid) + " tests";
      warnings_.emplace_back(InputError(rule.place, message).what());
    }
  }
}

std::uint32_t RuleSet::priority_of(const Rule& rule) const {
  constexpr std::uint32_t kDefault = 3;
  if (rule.priority) return *rule.priority;
  const auto found = classifications_.find(lower(rule.class_type));
  return found == classifications_.end() ? kDefault : found->second.priority;
}

}  // namespace penumbra::ids
