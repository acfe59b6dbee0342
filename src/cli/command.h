// SPDX-License-Identifier: Apache-2.0
//
// How a subcommand of `penumbra` presents itself. Each is one file that registers one Command; no list names them.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace penumbra::cli {

/// What the program tells its caller. Listed in the man page and at the end of --help.
enum class ExitCode : int {
  ok = 0,             ///< also after SIGINT or SIGTERM, if everything ended in order
  failure = 1,        ///< something failed while running
  usage = 2,          ///< the command line is wrong, also where only the router can tell
  bad_input = 3,      ///< a configuration, route file or capture is wrong
  mismatch = 4,       ///< counters do not add up, an output or a run differs from what it must be, or a bar is missed
  no_connection = 5,  ///< no router answers on the control socket
};

/// An exit code and what it means.
struct ExitCodeHelp {
  ExitCode code;
  std::string meaning;
};
const std::vector<ExitCodeHelp>& exit_codes();

/// Ends the program: `penumbra: MESSAGE` on standard error (nothing if it is empty) and the exit code.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

struct Command {
  std::string name;
  std::string summary;
  /// Adds options to `command` and gives it a callback, which may throw Failure, InputError or any std::exception.
  void (*set_up)(CLI::App& command) = nullptr;
};

/// Adds a command to the list; for a namespace-scope constant in the command's own file. Returns true.
bool register_command(Command command);

/// The whole parser: every registered command, by name.
std::unique_ptr<CLI::App> make_parser();

/// Parses, runs, reports errors; what main() returns.
int run_program(int argc, const char* const* argv);

}  // namespace penumbra::cli
