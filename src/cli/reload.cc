// SPDX-License-Identifier: Apache-2.0
//
// `penumbra reload` and `penumbra plan`: a new configuration for a running router.
#include "cli/reload.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/output.h"

namespace penumbra::cli {
namespace {

void ask_for(const RouterAddress& address, const std::string& action, const std::string& file,
             const std::string& confirm) {
  std::vector<std::string> arguments;
  if (!file.empty()) arguments.push_back(std::filesystem::absolute(file).string());
  if (!confirm.empty()) arguments.insert(arguments.end(), {"--confirm", confirm});
  const auto answer = ask(address, "reload", action, arguments);
  print_warnings(answer);
  if (address.json) return print_answer(answer, true);
  write_output(reload_in_words(answer, action == "plan"));
}

void set_up(CLI::App& command, const std::string& action) {
  const auto address = std::make_shared<RouterAddress>();
  const auto file = std::make_shared<std::string>();
  command.add_option("CONFIG", *file, "The configuration; if not given the file that the router was started with")
      ->type_name("FILE");
  const auto confirm = std::make_shared<std::string>();
  if (action == "apply") add_confirm_option(command, *confirm);
  add_router_options(command, *address);
  command.callback([address, file, confirm, action] { ask_for(*address, action, *file, *confirm); });
}

void save(const RouterAddress& address, const std::string& file, bool force) {
  std::vector<std::string> arguments;
  if (!file.empty()) arguments.push_back(std::filesystem::absolute(file).string());
  if (force) arguments.emplace_back("--force");
  const auto answer = ask(address, "config", "save", arguments);
  if (address.json) return print_answer(answer, true);
  std::string text;
  for (const auto& written : answer.at("files")) text += written.get<std::string>() + "\n";
  write_output(text.empty() ? "nothing to save: the files have it all\n" : text);
}

void set_up_save(CLI::App& command) {
  const auto address = std::make_shared<RouterAddress>();
  const auto file = std::make_shared<std::string>();
  const auto force = std::make_shared<bool>(false);
  command
      .add_option("CONFIG", *file,
                  "Write it as this file, in the same folder; if not given to "
                  "where it is from")
      ->type_name("FILE");
  command.add_flag("--force", *force, "Overwrite files that were changed since the router read them");
  add_router_options(command, *address);
  command.callback([address, file, force] { save(*address, *file, *force); });
}

/// Sets up `confirm` and `rollback`.
void set_up_decision(CLI::App& command, const char* action, const char* done) {
  const auto address = std::make_shared<RouterAddress>();
  add_router_options(command, *address);
  command.callback([address, action, done] {
    const auto answer = ask(*address, "config", action, {});
    if (address->json) {
      print_answer(answer, true);
    } else {
      write_output(done);
    }
    if (!answer.contains("failures")) return;
    std::string failures;
    for (const auto& failure : answer.at("failures")) failures += "\n" + failure.get<std::string>();
    throw Failure(ExitCode::failure, "taken back, but for the ports of these errors:" + failures);
  });
}

void set_value(const RouterAddress& address, const std::string& action, std::vector<std::string> arguments,
               const std::string& confirm) {
  if (!confirm.empty()) arguments.insert(arguments.end(), {"--confirm", confirm});
  const auto answer = ask(address, "config", action, arguments);
  print_warnings(answer);
  if (address.json) return print_answer(answer, true);
  write_output(reload_in_words(answer, false));
}

/// Sets up `set` and `unset`.
void set_up_setting(CLI::App& command, const std::string& action) {
  const auto address = std::make_shared<RouterAddress>();
  const auto path = std::make_shared<std::string>(), value = std::make_shared<std::string>();
  const auto confirm = std::make_shared<std::string>();
  command.add_option("PATH", *path, "ports.PORT.KEY, or FUNCTION.KEY with further keys where a value is a map")
      ->required()
      ->type_name("PATH");
  if (action == "set") command.add_option("VALUE", *value, "As in the configuration")->required()->type_name("YAML");
  add_confirm_option(command, *confirm);
  add_router_options(command, *address);
  command.callback([address, action, path, value, confirm] {
    std::vector<std::string> arguments{*path};
    if (action == "set") arguments.push_back(*value);
    set_value(*address, action, std::move(arguments), *confirm);
  });
}

const bool kSet = register_command({"set", "Change a setting of a running router's port or function",
                                    [](CLI::App& command) { set_up_setting(command, "set"); }});
const bool kUnset = register_command({"unset", "Take a setting of a running router's port or function back",
                                      [](CLI::App& command) { set_up_setting(command, "unset"); }});
const bool kSave = register_command({"save", "Write a running router's configuration back to its files", set_up_save});
const bool kConfirm = register_command({"confirm", "Keep the changes that were made with --confirm",
                                        [](CLI::App& command) { set_up_decision(command, "confirm", "confirmed\n"); }});
const bool kRollback =
    register_command({"rollback", "Take the changes back that were made with --confirm",
                      [](CLI::App& command) { set_up_decision(command, "rollback", "taken back\n"); }});
const bool kReload = register_command({"reload", "Let a running router take over its changed configuration",
                                       [](CLI::App& command) { set_up(command, "apply"); }});
const bool kPlan = register_command({"plan", "Show what a reload would change, and what takes a restart",
                                     [](CLI::App& command) { set_up(command, "plan"); }});

}  // namespace

void add_confirm_option(CLI::App& command, std::string& seconds) {
  command
      .add_option("--confirm", seconds,
                  "Take the change back after this time (60s, 2m) unless "
                  "`penumbra confirm` comes before")
      ->transform(as_confirm_time())
      ->type_name("TIME");
}

void print_warnings(const nlohmann::ordered_json& answer) {
  if (!answer.contains("warnings")) return;
  for (const auto& warning : answer.at("warnings")) fmt::print(stderr, "{}\n", warning.get<std::string>());
}

std::string unconfirmed_in_words(const nlohmann::ordered_json& answer) {
  if (!answer.contains("unconfirmed_seconds")) return "";
  return fmt::format("taken back in {:.0f} s unless `penumbra confirm` comes\n",
                     answer.at("unconfirmed_seconds").get<double>());
}

std::string reload_in_words(const nlohmann::ordered_json& answer, bool planned) {
  std::string text;
  for (const auto& key : answer.at("restart")) text += key.get<std::string>() + ": takes a restart\n";
  for (const auto& line : answer.at("changes")) text += line.get<std::string>() + "\n";
  text += unconfirmed_in_words(answer);
  if (answer.contains("unsaved")) {
    for (const auto& line : answer.at("unsaved")) text += "not saved: " + line.get<std::string>() + "\n";
  }
  if (!text.empty()) return text;
  return planned ? "nothing would change\n" : "nothing has changed\n";
}

}  // namespace penumbra::cli
