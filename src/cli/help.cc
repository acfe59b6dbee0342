// SPDX-License-Identifier: Apache-2.0
//
// The commands `help [COMMAND]` and `version`, equivalent to --help and --version.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/version.h"
#include "penumbra/errors.h"

namespace penumbra::cli {
namespace {

/// Throws Failure if the words name no command.
void require_command(const std::vector<std::string>& words) {
  const auto parser = make_parser();
  const CLI::App* app = parser.get();
  for (const auto& word : words) {
    std::vector<std::string> names;
    const CLI::App* found = nullptr;
    for (const auto* child : app->get_subcommands(nullptr)) {
      names.push_back(child->get_name());
      if (child->get_name() == word) found = child;
    }
    if (found == nullptr) {
      const std::string hint = did_you_mean_or_list(word, names);
      throw Failure(ExitCode::usage, "there is no command " + quote(word) + (hint.empty() ? "" : "; " + hint) +
                                         "\nTry '" + this_program().name + " --help'.");
    }
    app = found;
  }
}

/// Prints the help of the command that `words` name.
void help(const std::vector<std::string>& words) {
  require_command(words);
  std::vector<const char*> arguments{this_program().name.c_str()};
  arguments.reserve(words.size() + 2);
  for (const auto& word : words) arguments.push_back(word.c_str());
  arguments.push_back("--help");
  run_program(static_cast<int>(arguments.size()), arguments.data());
}

void set_up_help(CLI::App& command) {
  const auto words = std::make_shared<std::vector<std::string>>();
  command.add_option("COMMAND", *words, "The command, if not all of them")->type_name("COMMAND");
  command.callback([words] { help(*words); });
}

void set_up_version(CLI::App& command) {
  const auto json = std::make_shared<bool>(false);
  add_json_flag(command, *json);
  command.callback([json] { write_output(*json ? version_json() : version_text()); });
}

const bool kHelpCommand = register_command({"help", "Print the help of the program or of a command", set_up_help}) &&
                          register_command({"version", "Print version, compiler and engines", set_up_version});

}  // namespace
}  // namespace penumbra::cli
