// SPDX-License-Identifier: Apache-2.0
#include "runtime/reload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "base/log.h"
#include "io/port_warnings.h"
#include "penumbra/errors.h"
#include "runtime/commands.h"
#include "runtime/config_keys.h"
#include "runtime/port_changes.h"
#include "runtime/port_plan.h"
#include "runtime/running_config.h"

namespace penumbra::runtime {
namespace {

/// File name of places in the text that `show config` prints.
constexpr const char* kRunning = "running configuration";

/// Returns the functions of the pipeline, each with the settings that only a restart changes.
std::vector<std::pair<std::string, std::string>> stages_of(const control::RouterConfig& config) {
  std::vector<std::pair<std::string, std::string>> stages;
  stages.reserve(config.pipeline.size());
  for (const auto& stage : config.pipeline) {
    auto& [function, settings] = stages.emplace_back(stage.function, stage.engine);
    for (const auto& go_to : stage.go_to) settings += fmt::format(" {}:{}", go_to.reason, go_to.target);
  }
  return stages;
}

/// Returns the warnings of `check` about this machine for the ports that the plan opens. Omits places in the text that
/// `show config` prints, because the warnings name the port anyway.
std::vector<std::string> warnings_of(const PortPlan& plan) {
  std::vector<control::PortConfig> ports;
  for (const auto* places : {&plan.added, &plan.reopened}) {
    for (const std::uint16_t place : *places) {
      control::PortConfig& port = ports.emplace_back(plan.placed.ports[place]);
      for (SourceLocation* where : {&port.device_location, &port.mtu_location, &port.twin_location}) {
        if (where->file == kRunning) where->file.clear();
      }
    }
  }
  return io::port_warnings(ports);
}

/// Removes `--confirm SECONDS` from the end of the arguments and returns the time.
std::optional<std::chrono::nanoseconds> take_confirm(std::span<const std::string>& arguments) {
  if (arguments.size() < 2 || arguments[arguments.size() - 2] != "--confirm") return std::nullopt;
  const auto time = read_confirm_time(arguments.back());
  arguments = arguments.first(arguments.size() - 2);
  return time;
}

}  // namespace

Reloader::Reloader(const control::RouterConfig& config, Pipeline& pipeline, std::mutex& functions)
    : pipeline_(pipeline),
      functions_(functions),
      unconfirmed_(mutex_, [](const std::string& text) { log_warning(text); }) {
  adopt(config);
  saved_ = config_.root;
}

void Reloader::adopt(const control::RouterConfig& config) {
  config_ = config;
  if (!config.file.empty()) file_ = std::filesystem::absolute(config.file);  // A text in memory has no file.
  sections_ = config.sections;
  stages_ = stages_of(config);
}

/// Returns true if `next` has the same functions, which can be compared one by one.
bool Reloader::comparable(const control::RouterConfig& next) const {
  const auto by_function = [](const auto& a, const auto& b) { return a.first == b.first; };
  return std::ranges::equal(stages_, stages_of(next), by_function);
}

/// Returns the changed top-level keys that need a restart, which are not matters of functions or ports.
std::vector<std::string> Reloader::restarts(const control::RouterConfig& next) const {
  std::set<std::string> keys;
  for (const auto* sections : {&sections_, &next.sections}) {
    for (const auto& [key, text] : *sections) keys.insert(key);
  }
  std::vector<std::string> changed;
  for (const auto& key : keys) {
    const auto before = sections_.find(key), after = next.sections.find(key);
    const bool same = before != sections_.end() && after != next.sections.end() && before->second == after->second;
    if (!same && key != "pipeline" && key != "ports") changed.push_back(key);
  }
  if (stages_ != stages_of(next)) changed.emplace_back("pipeline");
  return changed;
}

void Reloader::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  unconfirmed_.stop();
}

void Reloader::require_running() const {
  if (is_stopped_) throw std::runtime_error("the router is ending; nothing has changed");
}

nlohmann::ordered_json Reloader::command(std::string_view action, std::span<const std::string> arguments) {
  const bool apply = action == "apply";
  const auto confirm = apply ? take_confirm(arguments) : std::nullopt;
  if ((!apply && action != "plan") || arguments.size() > 1) {
    throw std::invalid_argument("expected reload plan [FILE], or reload apply [FILE] [--confirm SECONDS]");
  }
  const std::lock_guard lock(mutex_);
  const std::filesystem::path file = arguments.empty() ? file_ : std::filesystem::path(arguments[0]);
  control::finish_save(file);
  const auto next = control::load_config(file);
  auto answer = take_over_locked(next, next, apply, confirm);
  if (apply) saved_ = config_.root;
  return answer;
}

nlohmann::ordered_json Reloader::take_over(const control::RouterConfig& next, bool apply) {
  const std::lock_guard lock(mutex_);
  return take_over_locked(next, next, apply, std::nullopt);
}

nlohmann::ordered_json Reloader::take_over_locked(const control::RouterConfig& next, const control::RouterConfig& kept,
                                                  bool apply, std::optional<std::chrono::nanoseconds> confirm) {
  require_running();
  const PortPlan plan = plan_ports(ports_->ports(), next);
  // Build the complete new pipeline first, so that errors appear before any change and each file is read once.
  const auto spare = std::make_shared<SparePipeline>(plan.placed);
  auto restart = restarts(next);
  restart.insert(restart.end(), plan.restarts.begin(), plan.restarts.end());
  if (apply && !restart.empty()) {
    const bool all_of_ports = std::ranges::all_of(restart, [](const auto& key) { return key.starts_with("ports."); });
    throw std::runtime_error(fmt::format("{}: a change of {} takes a restart{}; nothing has changed",
                                         next.file.string(), fmt::join(restart, ", "),
                                         all_of_ports ? ", or `penumbra port del` and `port add`" : ""));
  }
  const std::vector<std::string> warnings = warnings_of(plan);
  std::vector<std::string> changes = plan.changes, unsaved;
  try {
    const std::lock_guard functions(functions_);
    if (!apply) unsaved = this->unsaved();
    if (comparable(next)) {
      auto of_functions = pipeline_.reload(spare->pipeline(), plan.placed.pipeline, false);
      if (&next != &kept) require_saved(of_functions);
      if (apply) {
        try {
          ports_->apply(plan);
          of_functions = pipeline_.reload(spare->pipeline(), plan.placed.pipeline, true);
        } catch (...) {
          give_back_ports(config_);
          throw;
        }
      }
      changes.insert(changes.end(), of_functions.begin(), of_functions.end());
    }
  } catch (const InputError& error) {
    // The file is valid, because the spare pipeline was created from it. Only this router cannot apply the file.
    const bool is_file = error.location().file != kRunning;
    throw std::runtime_error(is_file ? error.what() : at_key(error, *next.root, stage_names()).what());
  }
  nlohmann::ordered_json answer{
      {"file", std::filesystem::absolute(next.file).string()}, {"changes", changes}, {"restart", restart}};
  if (!unsaved.empty()) answer["unsaved"] = unsaved;
  if (!warnings.empty()) answer["warnings"] = warnings;
  if (!apply) return answer;
  for (const auto& warning : warnings) log_warning(warning);
  // The spare pipeline now has the previous configuration.
  const auto undo = [this, spare, placed = plan.placed, before = config_, saved = saved_] {
    const std::lock_guard functions(functions_);
    std::string failure;
    try {
      ports_->apply(plan_ports(ports_->ports(), before));
    } catch (const std::exception& error) {  // An interface may be gone, for example; everything else is restored.
      failure = error.what();
    }
    pipeline_.reload(spare->pipeline(), placed.pipeline, true);
    adopt(before);
    saved_ = saved;
    if (!failure.empty()) throw std::runtime_error(failure);
  };
  adopt(kept);
  unconfirmed_.add(undo, confirm);
  tell_unconfirmed(answer);
  return answer;
}

/// Restores the ports of a previous configuration after a failed change.
void Reloader::give_back_ports(const control::RouterConfig& before) {
  try {
    ports_->apply(plan_ports(ports_->ports(), before));
  } catch (const std::exception& error) {
    log_warning(fmt::format("ports cannot be given back: {}", error.what()));
  }
}

/// Throws if a line of Pipeline::reload() concerns a function with unsaved tables. The tables of such a function would
/// come from the new configuration and count as saved.
void Reloader::require_saved(const std::vector<std::string>& changes) const {
  const auto stage_of = [](const std::string& line) { return line.substr(0, line.find(':')); };
  for (const auto& unsaved : unsaved_changes(pipeline_)) {
    const std::string stage = stage_of(unsaved);
    if (std::ranges::find(changes, stage, stage_of) == changes.end()) continue;
    throw std::runtime_error(
        fmt::format("{}: its tables were changed by commands: `penumbra save` first; nothing has changed", stage));
  }
}

std::vector<std::string> Reloader::stage_names() const {
  std::vector<std::string> names;
  for (const auto& stage : pipeline_.stages()) names.push_back(stage.name);
  return names;
}

/// Returns the changes that commands made to the configuration itself and that no file has.
std::vector<std::string> Reloader::edits() const {
  return config_differences(*saved_, *config_.root, stage_names());
}

std::vector<std::string> Reloader::unsaved() const {
  auto lines = edits();
  const auto of_tables = unsaved_changes(pipeline_);
  lines.insert(lines.end(), of_tables.begin(), of_tables.end());
  return lines;
}

control::RouterConfig Reloader::parse(const std::string& text) const {
  auto config = control::parse_config(text, kRunning, file_.parent_path());
  config.file = config_.file;
  config.stamps = config_.stamps;
  return config;
}

/// Applies a configuration that a command has changed. Tables that commands have changed stay as they are. Errors name
/// a key, because no user knows the lines of this text.
nlohmann::ordered_json Reloader::take_edit(const ConfigEdit& edit, std::optional<std::chrono::nanoseconds> confirm) {
  std::string text = edit.text;
  try {
    const auto kept = parse(text);
    {
      const std::lock_guard functions(functions_);
      text = running_config(kept, pipeline_);
    }
    return take_over_locked(parse(text), kept, true, confirm);
  } catch (const InputError& error) {
    if (error.location().file != kRunning) throw;
    throw at_key(error, ConfigNode::parse(text, "", {}), stage_names());
  }
}

nlohmann::ordered_json Reloader::change_ports(std::string_view action, const CommandRequest& request) {
  require_action("port", action);
  if (!request.stage.empty()) throw std::invalid_argument("ports belong to no stage: leave --stage out");
  const ConfigEdit edit = edit_ports(config_, action, request.entries);
  const auto& [added, removed, changed] = edit.counts;
  nlohmann::ordered_json answer{
      {"changes",
       {{{"stage", "router"}, {"command", "port"}, {"added", added}, {"removed", removed}, {"changed", changed}}}}};
  if (added + removed + changed != 0) {
    const auto taken = take_edit(edit, request.confirm);
    if (taken.contains("warnings")) answer["warnings"] = taken.at("warnings");
  }
  tell_unconfirmed(answer);
  return answer;
}

nlohmann::ordered_json Reloader::set(std::string_view action, std::span<const std::string> arguments) {
  const auto confirm = take_confirm(arguments);
  const bool has_value = action == "set";
  if (arguments.size() != (has_value ? 2 : 1)) {
    throw std::invalid_argument("expected config set PATH VALUE [--confirm SECONDS], or config unset PATH [...]");
  }
  const auto stages = stage_names();
  const auto value = has_value ? std::optional(arguments[1]) : std::nullopt;
  return take_edit(edit_setting(config_, stages, arguments[0], value), confirm);
}

/// Adds the remaining time of unconfirmed changes to the answer.
void Reloader::tell_unconfirmed(nlohmann::ordered_json& answer) const {
  if (const auto left = unconfirmed_.left()) answer["unconfirmed_seconds"] = left->count();
}

nlohmann::ordered_json Reloader::change(const std::string& command, std::string_view action,
                                        std::span<const std::string> arguments) {
  const CommandRequest request = read_command_request(arguments);
  const std::lock_guard lock(mutex_);
  if (command == port_command().name) return change_ports(action, request);
  require_running();
  const auto changes = [&] {
    const std::lock_guard functions(functions_);
    auto made = std::make_shared<StageChanges>(pipeline_, command, action, request);
    made->apply();
    return made;
  }();
  const auto undo = [this, changes] {
    const std::lock_guard functions(functions_);
    changes->undo();
  };
  unconfirmed_.add(undo, request.confirm);
  nlohmann::ordered_json answer{{"changes", changes->to_json()}};
  tell_unconfirmed(answer);
  return answer;
}

nlohmann::ordered_json Reloader::configure(std::string_view action, std::span<const std::string> arguments) {
  const std::lock_guard lock(mutex_);
  if (action == "save") return save(arguments);
  if (action == "set" || action == "unset") return set(action, arguments);
  if (!arguments.empty()) throw std::invalid_argument(fmt::format("config {}: too many arguments", action));
  if (action == "show") {
    const std::lock_guard functions(functions_);
    return {{"file", file_.string()}, {"yaml", running_config(config_, pipeline_)}, {"unsaved", unsaved()}};
  }
  if (action == "confirm") {
    if (!unconfirmed_.confirm()) throw std::runtime_error("no change waits to be confirmed");
    return {{"confirmed", true}};
  }
  require_running();
  if (action != "rollback") throw std::invalid_argument("expected config show|set|unset|save|confirm|rollback");
  const std::size_t count = unconfirmed_.roll_back();
  if (count == 0) throw std::runtime_error("no change waits to be confirmed: there is nothing to take back");
  nlohmann::ordered_json answer{{"taken_back", count}};
  if (!unconfirmed_.failures().empty()) answer["failures"] = unconfirmed_.failures();
  return answer;
}

nlohmann::ordered_json Reloader::save(std::span<const std::string> arguments) {
  bool force = false;
  std::filesystem::path file = file_;
  for (const auto& argument : arguments) {
    if (argument == "--force") {
      force = true;
    } else if (file == file_) {
      file = argument;
    } else {
      throw std::invalid_argument("expected config save [FILE] [--force]");
    }
  }
  if (unconfirmed_.left()) {
    throw std::runtime_error(
        "a change waits to be confirmed: `penumbra confirm` keeps it, "
        "`penumbra rollback` takes it back");
  }
  const std::lock_guard functions(functions_);
  std::vector<std::string> written;
  for (const auto& each : save_config(config_, pipeline_, file, !edits().empty(), force)) {
    written.push_back(each.string());
  }
  if (std::filesystem::absolute(file) == file_) {
    for (const auto& stage : pipeline_.stages()) stage.function->tables_are_saved();
    if (std::ranges::find(written, file_.string()) != written.end()) {
      const auto stamps = config_.stamps;
      adopt(control::load_config(file_));  // The text is equivalent.
      saved_ = config_.root;
      for (const auto& [path, stamp] : stamps) config_.stamps.insert_or_assign(path, stamp);
    }
  }
  return {{"files", written}};
}

}  // namespace penumbra::runtime
