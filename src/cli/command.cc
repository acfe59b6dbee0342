// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <new>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "cli/output.h"
#include "cli/version.h"
#include "penumbra/errors.h"

namespace penumbra::cli {
namespace {

std::vector<Command>& registry() {
  static std::vector<Command> commands;
  return commands;
}

std::string footer() {
  std::string text = "Exit codes:\n";
  for (const auto& [code, meaning] : exit_codes()) text += fmt::format("  {}  {}\n", static_cast<int>(code), meaning);
  return text + this_program().notes;
}

/// Returns the innermost command of the command line, for "Try ...".
const CLI::App* innermost(const CLI::App* app) {
  const auto named = app->get_subcommands();
  return named.empty() ? app : innermost(named.back());
}

std::string full_name(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  return parent == nullptr ? app->get_name() : full_name(parent) + " " + app->get_name();
}

/// Returns the words that are valid at the position of this command.
std::vector<std::string> candidates(const CLI::App& command, bool is_option) {
  std::vector<std::string> words;
  if (!is_option) {
    for (const auto* child : command.get_subcommands(nullptr)) words.push_back(child->get_name());
    return words;
  }
  for (const auto* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) words.push_back("--" + name);
  }
  if (command.get_fallthrough() && command.get_parent() != nullptr) {
    const auto inherited = candidates(*command.get_parent(), true);
    words.insert(words.end(), inherited.begin(), inherited.end());
  }
  return words;
}

/// Returns ": MEANING" of a missing required option, and "" for any other error.
std::string meaning_of_missing(const CLI::ParseError& error, const CLI::App& command) {
  if (dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) return "";
  const std::string what = error.what();
  const auto* option = command.get_option_no_throw(what.substr(0, what.find(' ')));
  return option == nullptr || option->get_description().empty() ? "" : ": " + option->get_description();
}

/// Returns the error, with a suggestion if an unexpected word resembles a valid one.
std::string explain(const CLI::ParseError& error, const CLI::App& parser, const CLI::App& command) {
  const auto words = parser.remaining(true);
  if (words.empty()) return error.what() + meaning_of_missing(error, command);
  const auto option = std::ranges::find_if(words, [](const auto& word) { return word.starts_with("-"); });
  const bool is_option = option != words.end();
  const std::string& word = is_option ? *option : words.front();
  if (const auto moved = this_program().moved.find(word); moved != this_program().moved.end() && &command == &parser) {
    return fmt::format("unknown command '{}'; {}", word, moved->second);
  }
  const auto known = candidates(command, is_option);
  // A command has many options. --help, which the next line names, explains them.
  const std::string nearest = is_option ? did_you_mean(word, known) : did_you_mean_or_list(word, known);
  const std::string what = is_option ? "option" : known.empty() ? "argument" : "command";
  return fmt::format("unknown {} '{}'{}", what, word, nearest.empty() ? "" : "; " + nearest);
}

/// Writes an error to standard error. The exit code is right even if nobody reads the error.
int report(ExitCode code, const char* message) noexcept {
  constexpr std::chrono::seconds kPatience{1};
  if (*message == '\0') return static_cast<int>(code);
  try {
    write_to_stderr(fmt::format("{}: {}\n", this_program().name, message), kPatience);
  } catch (const std::bad_alloc&) {
    write_to_stderr(message, kPatience);
  }
  return static_cast<int>(code);
}

/// Returns true if JSON was requested, either as an option of the program or of a command on the command line.
bool wants_json(const CLI::App& app) {
  const auto* flag = app.get_option_no_throw("--json");
  if (flag != nullptr && flag->count() > 0) return true;
  return std::ranges::any_of(app.get_subcommands(), [](const CLI::App* child) { return wants_json(*child); });
}

/// `-j` before a command applies to the command.
void hand_down_json(CLI::App& parser) {
  for (CLI::App* app = &parser; !app->get_subcommands().empty();) {
    app = app->get_subcommands().back();
    CLI::Option* flag = app->get_option_no_throw("--json");
    if (flag == nullptr) continue;
    if (flag->count() > 0) return;
    flag->add_result("true");
    flag->run_callback();
    return;
  }
  throw CLI::ExtrasError({"--json"});
}

/// Reports an error on standard error. If JSON was requested and nothing was written yet, the error is also written as
/// JSON.
int report(ExitCode code, const CLI::App& parser, bool has_output, const std::string& message,
           const InputError* input = nullptr, const std::string& hint = "") {
  if (!message.empty() && wants_json(parser) && !has_output) {
    nlohmann::ordered_json error{{"ok", false}, {"error", input == nullptr ? message : input->message()}};
    if (input != nullptr) {
      const auto& [file, line, column] = input->location();
      error.update(nlohmann::ordered_json{{"file", file}, {"line", line}, {"column", column}});
    }
    write_output(error.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    flush_output();
  }
  return report(code, (message + hint).c_str());
}

/// Lists the commands for `penumbra` without arguments. Returns the exit code of a wrong command line, because nothing
/// was done.
int list_commands(const CLI::App& parser) {
  std::string text = this_program().name + ": say what to do, with one of these commands:\n";
  std::size_t width = 0;
  const auto commands = parser.get_subcommands(nullptr);
  for (const auto* command : commands) width = std::max(width, command->get_name().size());
  for (const auto* command : commands) {
    text += fmt::format("  {:<{}}  {}\n", command->get_name(), width, command->get_description());
  }
  text += this_program().begin;
  std::fprintf(stderr, "%s\n", text.c_str());
  return static_cast<int>(ExitCode::usage);
}

int parse_and_run(CLI::App& parser, int argc, const char* const* argv) {
  try {
    parser.parse(argc, argv);
    if (parser.get_subcommands().empty()) return list_commands(parser);
    flush_output();
    return static_cast<int>(ExitCode::ok);
  } catch (const CLI::Success& request) {  // --help, --version
    if (dynamic_cast<const CLI::CallForVersion*>(&request) != nullptr) {
      write_output(wants_json(parser) ? version_json() : version_text());
    } else {
      write_output(parser.help());
    }
    flush_output();
    return static_cast<int>(ExitCode::ok);
  } catch (const CLI::ParseError& error) {
    const CLI::App* command = innermost(&parser);
    const std::string name = full_name(command);
    return report(ExitCode::usage, parser, false, explain(error, parser, *command), nullptr,
                  fmt::format("\nTry '{} --help'.", name));
  }
}

}  // namespace

const std::vector<ExitCodeHelp>& exit_codes() {
  static const std::vector<ExitCodeHelp> kCodes{
      {ExitCode::ok, "success; also after SIGINT or SIGTERM if everything ended in order"},
      {ExitCode::failure, "something failed while running"},
      {ExitCode::usage, "the command line is wrong, also where only the router can tell"},
      {ExitCode::bad_input, "a configuration, route file, address or capture is wrong; the message says where"},
      {ExitCode::mismatch,
       "counters do not add up, an output differs from what it must be, or a benchmark misses a bar"},
      {ExitCode::no_connection, "no router answers on the control socket"},
  };
  return kCodes;
}

bool register_command(Command command) {
  registry().push_back(std::move(command));
  return true;
}

std::unique_ptr<CLI::App> make_parser() {
  auto parser = std::make_unique<CLI::App>(this_program().title, this_program().name);
  parser->set_version_flag("--version", "", "Print version, compiler and engines, and exit");
  parser->set_help_flag("-h,--help", "Print this help and exit");
  parser->add_flag("-j,--json")->description("Print JSON, of commands that can");
  parser->parse_complete_callback([top = parser.get()] {
    if (top->count("--json") > 0) hand_down_json(*top);
  });
  parser->require_subcommand(0, 1);
  std::map<std::string, std::function<void(CLI::App & parser)>> by_name;
  for (const auto& command : registry()) {
    by_name[command.name] = [&command](CLI::App& top) {
      command.set_up(*top.add_subcommand(command.name, command.summary));
    };
  }
  if (this_program().add_commands != nullptr) this_program().add_commands(by_name);
  for (const auto& [name, add] : by_name) add(*parser);
  parser->footer(footer());  // last, because commands would inherit the footer
  return parser;
}

int run_program(int argc, const char* const* argv) {
  const auto parser = make_parser();
  const auto has_output = [before = output_bytes()] { return output_bytes() > before; };
  try {
    try {
      return parse_and_run(*parser, argc, argv);
    } catch (const Failure& failure) {
      return report(failure.code(), *parser, has_output(), failure.what());
    } catch (const InputError& error) {
      return report(ExitCode::bad_input, *parser, has_output(), error.what(), &error);
    } catch (const std::bad_alloc&) {
      return report(ExitCode::failure, "out of memory");
    } catch (const std::exception& error) {
      return report(ExitCode::failure, *parser, has_output(), error.what());
    }
  } catch (const OutputClosed&) {
    return static_cast<int>(ExitCode::ok);
  } catch (const std::exception& error) {  // an error of writing the report
    return report(ExitCode::failure, error.what());
  }
}

}  // namespace penumbra::cli
