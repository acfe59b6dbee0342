// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface of a program and of its subcommands. Each subcommand is one file that registers one Command;
// there is no list of names.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace penumbra::cli {

/// Exit codes of the program, which the man page and --help list.
enum class ExitCode : int {
  ok = 0,             ///< also after SIGINT or SIGTERM, if the program ended in order
  failure = 1,        ///< an error at run time
  usage = 2,          ///< the command line is wrong, even if only the router can tell
  bad_input = 3,      ///< a configuration, route file or capture is wrong
  mismatch = 4,       ///< counters do not add up, results differ from the expectation, or a threshold is missed
  no_connection = 5,  ///< no router answers on the control socket
};

/// Describes an exit code.
struct ExitCodeHelp {
  ExitCode code;
  std::string meaning;
};
const std::vector<ExitCodeHelp>& exit_codes();

/// Ends the program with an exit code and prints `NAME: MESSAGE` on standard error, or nothing if the message is empty.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Describes a program that run_program() runs.
struct Program {
  std::string name;   ///< file name of the executable
  std::string title;  ///< first line of --help
  std::string notes;  ///< last lines of --help
  std::string begin;  ///< last line of the command list that a call without arguments prints
  /// Commands that another program has, and the advice for each.
  std::map<std::string, std::string> moved;
  /// Adds commands that do not register themselves; may be null.
  void (*add_commands)(std::map<std::string, std::function<void(CLI::App& parser)>>& by_name) = nullptr;
};

/// Returns the description of the running program. Each executable defines this function.
const Program& this_program();

struct Command {
  std::string name;
  std::string summary;
  /// Adds options and a callback to `command`. The callback may throw Failure, InputError or any std::exception.
  void (*set_up)(CLI::App& command) = nullptr;
};

/// Registers a command; for a namespace-scope constant in the command's own file. Returns true.
bool register_command(Command command);

/// Returns the whole parser with every registered command, by name.
std::unique_ptr<CLI::App> make_parser();

/// Parses the command line, runs the command and reports errors. Returns the exit code of main().
int run_program(int argc, const char* const* argv);

}  // namespace penumbra::cli
