// SPDX-License-Identifier: Apache-2.0
//
// `penumbra completion bash|zsh|fish`.
#include "cli/completion.h"

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/output.h"

namespace penumbra::cli {
namespace {

struct Shell {
  const char* name;
  const char* summary;
  std::string (*script)(const ParserCommand&);
};

constexpr Shell kShells[] = {
    {"bash", "Print the completion script for bash: source <(penumbra completion bash)", bash_completion},
    {"zsh", "Print the completion script for zsh: source <(penumbra completion zsh)", zsh_completion},
    {"fish", "Print the completion script for fish: penumbra completion fish | source", fish_completion},
};

void set_up_completion(CLI::App& command) {
  command.require_subcommand(1);
  for (const auto& shell : kShells) {
    CLI::App* child = command.add_subcommand(shell.name, shell.summary);
    child->callback([&shell] { write_output(shell.script(describe(*make_parser()))); });
  }
}

const bool kCompletionCommand =
    register_command({"completion", "Print a completion script for a shell", set_up_completion});

}  // namespace
}  // namespace penumbra::cli
