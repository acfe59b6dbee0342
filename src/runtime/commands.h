// SPDX-License-Identifier: Apache-2.0
//
// Commands of functions (penumbra/command.h) in a running router: finds the stages that a command is for, and makes one
// change of all its entries.
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

/// What a client asks for, read from a request's arguments: options, then entries, one or more lines each.
///
///   --stage NAME    the stage, where several have the command
///   --source NAME   what errors call the entries; "command line" if it is left out
///   --confirm SECONDS   the change is taken back after this time unless it is
///   confirmed
struct CommandRequest {
  std::string stage;
  std::optional<std::chrono::nanoseconds> confirm;
  CommandEntries entries;
};
/// Throws std::invalid_argument.
CommandRequest read_command_request(std::span<const std::string> arguments);

/// The time that stands behind --confirm. Throws std::invalid_argument.
std::chrono::nanoseconds read_confirm_time(const std::string& seconds);

/// Whether a request changes anything. Unknown commands do.
bool changes_something(std::string_view command, std::string_view topic);

/// Whether the read-only control socket refuses a request, and the other socket audits it: it changes something, shows
/// payload (`capture`), or reads files with the router's rights (`reload plan`).
bool needs_full_access(std::string_view command, std::string_view topic);

/// The commands of functions and the router's own, by name.
std::vector<FunctionCommand> router_commands();
/// Throws std::invalid_argument if there is no such command or it has no such action.
void require_action(const std::string& command, std::string_view action);
/// The names of all of them.
std::vector<std::string> command_names();
/// The topic of `show` that `penumbra COMMAND show` prints; empty if there is no such command.
std::string topic_of(std::string_view command);

/// Changes of several stages, made together or not at all.
class StageChanges {
 public:
  /// Checks the entries against the tables in force. Throws InputError with the place of a wrong entry,
  /// std::invalid_argument if no stage, or no single one, has the command.
  StageChanges(const Pipeline& pipeline, const std::string& command, std::string_view action,
               const CommandRequest& request);

  /// Throws std::exception; then nothing has changed.
  void apply();
  void undo();
  /// [{"stage": NAME, "command": "route", "added": 1, "removed": 0, "changed": 0}]
  nlohmann::ordered_json to_json() const;

 private:
  std::string command_;
  std::vector<std::pair<std::string, std::unique_ptr<Change>>> changes_;  ///< by stage
};

}  // namespace penumbra::runtime
