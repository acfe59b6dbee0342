// SPDX-License-Identifier: Apache-2.0
#include "cli/function_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text_file.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/reload.h"
#include "penumbra/command.h"
#include "runtime/config_edits.h"

namespace penumbra::cli {
namespace {

struct Options {
  std::string command, action;
  std::vector<std::string> words;  ///< words of one entry
  std::string file;                ///< "-": standard input
  std::string stage;
  std::string confirm;  ///< seconds; empty: the change stays
};

std::string read_standard_input() {
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  if (std::cin.bad()) throw Failure(ExitCode::failure, "standard input: cannot be read");
  return text;
}

/// Returns the arguments of the request (runtime/commands.h).
std::vector<std::string> to_arguments(const Options& options) {
  if (options.words.empty() == options.file.empty()) {
    throw Failure(ExitCode::usage, fmt::format("{} {}: expected one ENTRY, or -f FILE with an entry a line\n"
                                               "Try 'penumbra {} {} --help'.",
                                               options.command, options.action, options.command, options.action));
  }
  std::vector<std::string> arguments;
  if (!options.stage.empty()) arguments.insert(arguments.end(), {"--stage", options.stage});
  if (!options.confirm.empty()) arguments.insert(arguments.end(), {"--confirm", options.confirm});
  if (options.file.empty()) {
    arguments.push_back(fmt::format("{}", fmt::join(options.words, " ")));
  } else if (options.file == "-") {
    arguments.insert(arguments.end(), {"--source", "standard input", read_standard_input()});
  } else {
    arguments.insert(arguments.end(), {"--source", options.file, read_text_file(options.file)});
  }
  return arguments;
}

void change(const RouterAddress& address, const Options& options) {
  const auto answer = ask(address, options.command, options.action, to_arguments(options));
  print_warnings(answer);
  if (address.json) return print_answer(answer, true);
  write_output(changes_in_words(answer));
}

void add_action(CLI::App& parent, const std::shared_ptr<RouterAddress>& address, const std::string& command,
                const CommandAction& action) {
  CLI::App* child = parent.add_subcommand(action.name, action.help)->fallthrough();
  const auto options = std::make_shared<Options>();
  options->command = command;
  options->action = action.name;
  child->add_option("ENTRY", options->words, action.entry)->type_name("ENTRY");
  child
      ->add_option("-f,--file", options->file,
                   "Entries from this file, one a line, as one change: all of them or none; - is standard input")
      ->type_name("FILE");
  if (command != runtime::port_command().name) {
    child->add_option("--stage", options->stage, "The stage, where several functions of the pipeline have the command")
        ->type_name("STAGE");
  }
  if (action.changes) add_confirm_option(*child, options->confirm);
  child->callback([address, options] { change(*address, *options); });
}

void add_show(CLI::App& parent, const std::shared_ptr<RouterAddress>& address, const FunctionCommand& command) {
  CLI::App* child = parent.add_subcommand("show", fmt::format("The same as `penumbra show {}`", command.topic));
  child->fallthrough();
  const auto arguments = std::make_shared<std::vector<std::string>>();
  add_wide_flag(*child, *address);
  child->add_option("ARGUMENTS", *arguments, "What to show of it")->type_name("TEXT");
  child->callback([address, arguments, topic = command.topic] {
    print_answer(ask(*address, "show", topic, *arguments), address->json, address->wide);
  });
}

}  // namespace

void set_up_function_command(CLI::App& app, const FunctionCommand& command) {
  const auto address = std::make_shared<RouterAddress>();
  add_router_options(app, *address);
  app.require_subcommand(1);
  for (const auto& action : command.actions) add_action(app, address, command.name, action);
  add_show(app, address, command);
}

std::string changes_in_words(const nlohmann::ordered_json& answer) {
  std::string text;
  for (const auto& change : answer.at("changes")) {
    std::vector<std::string> parts;
    for (const char* kind : {"added", "removed", "changed"}) {
      const auto count = change.at(kind).get<std::uint64_t>();
      if (count != 0) parts.push_back(fmt::format("{} {}", count, kind));
    }
    if (parts.empty()) parts.emplace_back("nothing to change");
    text += fmt::format("{}: {}: {}\n", change.at("stage").get<std::string>(), change.at("command").get<std::string>(),
                        fmt::join(parts, ", "));
  }
  return text + unconfirmed_in_words(answer);
}

}  // namespace penumbra::cli
