// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/function_commands.h"
#include "runtime/commands.h"

namespace penumbra::cli {
namespace {

/// Adds the commands that functions register.
void add_function_commands(std::map<std::string, std::function<void(CLI::App& parser)>>& by_name) {
  for (const auto& command : runtime::router_commands()) {
    by_name[command.name] = [command](CLI::App& parser) {
      set_up_function_command(*parser.add_subcommand(command.name, command.help), command);
    };
  }
}

}  // namespace

const Program& this_program() {
  static const Program kProgram{
      .name = "penumbra",
      .title = "Penumbra, a software data plane",
      .notes = "\nA configuration explained: man penumbra, and examples/router.yaml.",
      .begin =
          "Begin with `penumbra doctor`; `penumbra COMMAND --help` explains a command, `man penumbra` all of them.",
      .moved = {{"bench", "the program `penumbra-bench` measures: penumbra-bench run NAME"},
                {"report", "tools/report makes reports of measurements (docs/report.md)"}},
      .add_commands = &add_function_commands};
  return kProgram;
}

}  // namespace penumbra::cli
