// SPDX-License-Identifier: Apache-2.0
#include "runtime/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <ranges>
#include <stdexcept>

#include "penumbra/errors.h"
#include "runtime/config_edits.h"

namespace penumbra::runtime {
namespace {

constexpr const char* kCommandLine = "command line";

const FunctionCommand* find_command(const FunctionInfo& info, std::string_view name) {
  const auto found = std::ranges::find(info.commands, name, &FunctionCommand::name);
  return found == info.commands.end() ? nullptr : &*found;
}

std::vector<const Stage*> stages_with(const Pipeline& pipeline, const std::string& command, const std::string& wanted) {
  std::vector<const Stage*> stages;
  std::vector<std::string> names;
  for (const auto& stage : pipeline.stages()) {
    if (find_command(*stage.info, command) == nullptr) continue;
    names.push_back(stage.name);
    if (wanted.empty() || stage.name == wanted) stages.push_back(&stage);
  }
  if (names.empty()) {
    std::vector<std::string> having;
    for (const auto& function : functions()) {
      if (find_command(function, command) != nullptr) having.push_back(function.name);
    }
    throw std::invalid_argument(fmt::format("no function of this router's pipeline has the command {}; {} has it",
                                            quote(command), fmt::join(having, " or ")));
  }
  if (stages.empty()) {
    throw std::invalid_argument(fmt::format("no stage with the command {} is called {}; {}", quote(command),
                                            quote(wanted), did_you_mean_or_list(wanted, names)));
  }
  const auto is_first_of_its_kind = [&stages](const Stage* stage) {
    return std::ranges::count(stages, stage->info, &Stage::info) == 1;
  };
  const auto selects = [&command](const Stage* stage) {
    return find_command(*stage->info, command)->select != nullptr;
  };
  if (stages.size() > 1 &&
      !(std::ranges::all_of(stages, is_first_of_its_kind) && std::ranges::all_of(stages, selects))) {
    throw std::invalid_argument(fmt::format("several stages have the command {}: name one with --stage ({})",
                                            quote(command), fmt::join(names, ", ")));
  }
  return stages;
}

bool has_words(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") != std::string_view::npos;
}

}  // namespace

std::vector<FunctionCommand> router_commands() {
  auto commands = function_commands();
  commands.push_back(port_command());
  std::ranges::sort(commands, {}, &FunctionCommand::name);
  return commands;
}

void require_action(const std::string& command, std::string_view action) {
  const auto commands = router_commands();
  const auto known = std::ranges::find(commands, command, &FunctionCommand::name);
  if (known == commands.end()) throw std::invalid_argument(fmt::format("there is no command {}", quote(command)));
  std::vector<std::string> names;
  for (const auto& each : known->actions) names.push_back(each.name);
  if (std::ranges::find(names, action) != names.end()) return;
  throw std::invalid_argument(
      fmt::format("{} has no action {}; {}", command, quote(action), did_you_mean_or_list(std::string(action), names)));
}

CommandRequest read_command_request(std::span<const std::string> arguments) {
  CommandRequest request{.stage = {}, .confirm = {}, .entries = {.text = {}, .name = kCommandLine}};
  std::size_t at = 0;
  for (; at < arguments.size() && arguments[at].starts_with("--"); at += 2) {
    if (at + 1 == arguments.size()) throw std::invalid_argument(fmt::format("{} needs a value", arguments[at]));
    const std::string& value = arguments[at + 1];
    if (arguments[at] == "--stage") {
      request.stage = value;
    } else if (arguments[at] == "--source") {
      request.entries.name = value;
    } else if (arguments[at] == "--confirm") {
      request.confirm = read_confirm_time(value);
    } else {
      throw std::invalid_argument(
          fmt::format("unknown option {}; {}", quote(arguments[at]),
                      did_you_mean_or_list(arguments[at], std::array{"--stage", "--source", "--confirm"})));
    }
  }
  for (; at < arguments.size(); ++at) request.entries.text += arguments[at] + "\n";
  if (!has_words(request.entries.text)) {
    throw std::invalid_argument(fmt::format("{}: there is no entry", request.entries.name));
  }
  return request;
}

std::chrono::nanoseconds read_confirm_time(const std::string& seconds) {
  constexpr double kLeast = 0.1, kMost = 86400;
  double value = 0;
  const auto [end, failure] = std::from_chars(seconds.data(), seconds.data() + seconds.size(), value);
  const bool is_number = failure == std::errc{} && end == seconds.data() + seconds.size();
  const bool in_range = value >= kLeast && value <= kMost;  // False for a NaN too.
  if (!is_number || !in_range) {
    throw std::invalid_argument(
        fmt::format("--confirm: expected {} to {} seconds, found {}", kLeast, kMost, quote(seconds)));
  }
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(value));
}

bool changes_something(std::string_view command, std::string_view topic) {
  constexpr std::array<std::string_view, 3> kLooking{"show", "capture", "explain"};
  if (std::ranges::find(kLooking, command) != kLooking.end()) return false;
  if (command == "reload") return topic != "plan";
  if (command == "config") return topic != "show";
  if (command == "trace") return topic != "show";
  const auto commands = router_commands();
  const auto known = std::ranges::find(commands, command, &FunctionCommand::name);
  if (known == commands.end()) return true;
  if (topic == "show") return false;
  const auto action = std::ranges::find(known->actions, topic, &CommandAction::name);
  return action == known->actions.end() || action->changes;
}

bool needs_full_access(std::string_view command, std::string_view topic) {
  return changes_something(command, topic) || command == "capture" || command == "reload";
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const auto& command : router_commands()) names.push_back(command.name);
  return names;
}

std::string topic_of(std::string_view command) {
  const auto commands = router_commands();
  const auto known = std::ranges::find(commands, command, &FunctionCommand::name);
  return known == commands.end() ? "" : known->topic;
}

StageChanges::StageChanges(const Pipeline& pipeline, const std::string& command, std::string_view action,
                           const CommandRequest& request)
    : command_(command) {
  require_action(command, action);
  const auto stages = stages_with(pipeline, command, request.stage);
  for (const Stage* stage : stages) {
    CommandEntries entries = request.entries;
    if (stages.size() > 1) entries.text = find_command(*stage->info, command)->select(entries.text);
    if (!has_words(entries.text)) continue;
    changes_.emplace_back(stage->name, stage->function->prepare(command, action, entries));
  }
}

void StageChanges::apply() {
  std::size_t done = 0;
  try {
    for (; done < changes_.size(); ++done) changes_[done].second->apply();
  } catch (...) {
    while (done > 0) changes_[--done].second->undo();
    throw;
  }
}

void StageChanges::undo() {
  for (auto& change : std::views::reverse(changes_)) change.second->undo();
}

nlohmann::ordered_json StageChanges::to_json() const {
  auto list = nlohmann::ordered_json::array();
  for (const auto& [stage, change] : changes_) {
    const Change::Counts counts = change->counts();
    list.push_back({{"stage", stage},
                    {"command", command_},
                    {"added", counts.added},
                    {"removed", counts.removed},
                    {"changed", counts.changed}});
  }
  return list;
}

}  // namespace penumbra::runtime
