// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

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
  return text + "\nA configuration explained: man penumbra, and examples/router.yaml.";
}

/// The innermost command that was named, for "Try ...".
const CLI::App* innermost(const CLI::App* app) {
  const auto named = app->get_subcommands();
  return named.empty() ? app : innermost(named.back());
}

std::string full_name(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  return parent == nullptr ? app->get_name() : full_name(parent) + " " + app->get_name();
}

/// What a word in this command's place might have been.
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

/// What is wrong, with a hint if a word that nothing expects is nearly one that would fit there.
std::string explain(const CLI::ParseError& error, const CLI::App& parser, const CLI::App& command) {
  const auto words = parser.remaining(true);
  if (words.empty()) return error.what();
  const auto option = std::ranges::find_if(words, [](const auto& word) { return word.starts_with("-"); });
  const bool is_option = option != words.end();
  const std::string& word = is_option ? *option : words.front();
  const auto known = candidates(command, is_option);
  const std::string nearest = did_you_mean(word, known);
  const std::string what = is_option ? "option" : known.empty() ? "argument" : "command";
  return fmt::format("unknown {} '{}'{}", what, word, nearest.empty() ? "" : "; " + nearest);
}

/// Whoever cannot read standard error still gets the exit code.
int report(ExitCode code, const char* message) noexcept {
  if (*message != '\0') std::fprintf(stderr, "penumbra: %s\n", message);
  return static_cast<int>(code);
}

int parse_and_run(CLI::App& parser, int argc, const char* const* argv) {
  try {
    parser.parse(argc, argv);
    flush_output();
    return static_cast<int>(ExitCode::ok);
  } catch (const CLI::Success& request) {  // --help, --version
    if (dynamic_cast<const CLI::CallForVersion*>(&request) != nullptr) {
      write_output(version_text());
    } else {
      write_output(parser.help());
    }
    flush_output();
    return static_cast<int>(ExitCode::ok);
  } catch (const CLI::ParseError& error) {
    const CLI::App* command = innermost(&parser);
    const std::string name = full_name(command);
    return report(ExitCode::usage, fmt::format("{}\nTry '{} --help'.", explain(error, parser, *command), name).c_str());
  }
}

}  // namespace

const std::vector<ExitCodeHelp>& exit_codes() {
  static const std::vector<ExitCodeHelp> kCodes{
      {ExitCode::ok, "success; also after SIGINT or SIGTERM if everything ended in order"},
      {ExitCode::failure, "something failed while running"},
      {ExitCode::usage, "the command line is wrong"},
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
  auto parser = std::make_unique<CLI::App>("Penumbra, a software data plane", "penumbra");
  parser->set_version_flag("--version", "", "Print version, compiler and engines, and exit");
  parser->set_help_flag("-h,--help", "Print this help and exit");
  parser->require_subcommand(1);
  auto commands = registry();
  std::ranges::sort(commands, {}, &Command::name);
  for (const auto& command : commands) command.set_up(*parser->add_subcommand(command.name, command.summary));
  parser->footer(footer());  // last, or the commands would inherit it
  return parser;
}

int run_program(int argc, const char* const* argv) {
  const auto parser = make_parser();
  try {
    return parse_and_run(*parser, argc, argv);
  } catch (const OutputClosed&) {
    return static_cast<int>(ExitCode::ok);
  } catch (const Failure& failure) {
    return report(failure.code(), failure.what());
  } catch (const InputError& error) {
    return report(ExitCode::bad_input, error.what());
  } catch (const std::bad_alloc&) {
    return report(ExitCode::failure, "out of memory");
  } catch (const std::exception& error) {
    return report(ExitCode::failure, error.what());
  }
}

}  // namespace penumbra::cli
