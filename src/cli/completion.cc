// SPDX-License-Identifier: Apache-2.0
//
// `penumbra completion bash|zsh|fish`.
#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/output.h"
#include "runtime/control_client.h"

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

/// The source of a running router's names: a topic of `show`, and the columns that form a name.
struct Names {
  const char* what;
  const char* topic;
  std::vector<std::string> arguments;
  std::vector<std::string> columns;
};

const std::vector<Names>& all_names() {
  static const std::vector<Names> kNames{{"ports", "ports", {}, {"name"}},
                                         {"functions", "functions", {}, {"stage"}},
                                         {"reasons", "drops", {"all"}, {"stage", "reason"}}};
  return kNames;
}

std::vector<std::string> kinds_of_names() {
  std::vector<std::string> kinds;
  for (const auto& names : all_names()) kinds.emplace_back(names.what);
  return kinds;
}

/// The shell waits for the names, so a busy router yields none.
void print_names(const RouterAddress& address, const std::string& what) {
  constexpr std::chrono::seconds kPatience{1};
  const Names& names = *std::ranges::find(all_names(), what, &Names::what);
  connected(address, [&](const std::filesystem::path& socket) {
    const auto rows = runtime::ask_router(socket, "show", names.topic, names.arguments, kPatience);
    std::string text;
    for (const auto& row : rows) {
      std::vector<std::string> parts;
      parts.reserve(names.columns.size());
      for (const auto& column : names.columns) parts.push_back(row.at(column));
      text += fmt::format("{}\n", fmt::join(parts, "."));
    }
    write_output(text);
  });
}

void set_up_names(CLI::App& command) {
  CLI::App* child = command.add_subcommand("names", "Print names of a running router, for the scripts");
  const auto address = std::make_shared<RouterAddress>();
  const auto what = std::make_shared<std::string>();
  child->add_option("WHAT", *what, "Which names")->required()->check(one_of(kinds_of_names()));
  add_socket_option(*child, *address);
  child->callback([address, what] { print_names(*address, *what); });
}

void set_up_completion(CLI::App& command) {
  command.require_subcommand(1);
  for (const auto& shell : kShells) {
    CLI::App* child = command.add_subcommand(shell.name, shell.summary);
    child->callback([&shell] { write_output(shell.script(describe(*make_parser()))); });
  }
  set_up_names(command);
}

const bool kCompletionCommand =
    register_command({"completion", "Print a completion script for a shell", set_up_completion});

}  // namespace
}  // namespace penumbra::cli
