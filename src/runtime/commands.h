// SPDX-License-Identifier: Apache-2.0
//
// Executes commands of functions (penumbra/command.h) in a running router. Finds the stages of a command and applies
// all its entries as one change.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/pipeline.h"

namespace penumbra::runtime {

/// Holds a request, read from its arguments: options, then entries of one or more lines.
///
///   --stage NAME    the stage, if several have the command
///   --source NAME   name of the entries in errors; default "command line"
///   --confirm SECONDS   undo the change after this time unless it is confirmed
struct CommandRequest {
  std::string stage;
  std::optional<std::chrono::nanoseconds> confirm;
  CommandEntries entries;
};
/// Parses the arguments. Throws std::invalid_argument.
CommandRequest read_command_request(std::span<const std::string> arguments);

/// Parses the time after --confirm. Throws std::invalid_argument.
std::chrono::nanoseconds read_confirm_time(const std::string& seconds);

/// Returns true if a request may change anything. Unknown commands count as changes.
bool changes_something(std::string_view command, std::string_view topic);

/// Returns true if the read-only control socket refuses a request and the other socket audits it. That is so if it
/// changes something, shows payload (`capture`), or reads files with the router's rights (`reload plan`).
bool needs_full_access(std::string_view command, std::string_view topic);

/// Returns the commands of functions and of the router, by name.
std::vector<FunctionCommand> router_commands();
/// Throws std::invalid_argument if there is no such command or it has no such action.
void require_action(const std::string& command, std::string_view action);
/// Returns the names of all commands.
std::vector<std::string> command_names();
/// Returns the topic of `show` that `penumbra COMMAND show` prints, or an empty text if there is no such command.
std::string topic_of(std::string_view command);

/// Changes of several stages that are applied together or not at all.
class StageChanges {
 public:
  /// Checks the entries against the active tables. Throws InputError with the place of a wrong entry. Throws
  /// std::invalid_argument if no stage, or more than one, has the command.
  StageChanges(const Pipeline& pipeline, const std::string& command, std::string_view action,
               const CommandRequest& request);

  /// Applies the changes. Throws std::exception and then changes nothing.
  void apply();
  void undo();
  /// Returns [{"stage": NAME, "command": "route", "added": 1, "removed": 0, "changed": 0}].
  nlohmann::ordered_json to_json() const;

 private:
  std::string command_;
  std::vector<std::pair<std::string, std::unique_ptr<Change>>> changes_;  ///< By stage.
};

}  // namespace penumbra::runtime
