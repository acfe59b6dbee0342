// SPDX-License-Identifier: Apache-2.0
//
// `penumbra reload` and `penumbra plan`: another configuration for a running router.
#include "cli/reload.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/output.h"

namespace penumbra::cli {
namespace {

void ask_for(const RouterAddress& address, const std::string& action, const std::string& file) {
  std::vector<std::string> arguments;
  if (!file.empty()) arguments.push_back(std::filesystem::absolute(file).string());
  const auto answer = ask(address, "reload", action, arguments);
  if (address.json) return print_answer(answer, true);
  write_output(reload_in_words(answer, action == "plan"));
}

void set_up(CLI::App& command, const std::string& action) {
  const auto address = std::make_shared<RouterAddress>();
  const auto file = std::make_shared<std::string>();
  command.add_option("CONFIG", *file, "The configuration; if not given the file that the router was started with")
      ->type_name("FILE");
  add_router_options(command, *address);
  command.callback([address, file, action] { ask_for(*address, action, *file); });
}

const bool kReload = register_command({"reload", "Let a running router take over its changed configuration",
                                       [](CLI::App& command) { set_up(command, "apply"); }});
const bool kPlan = register_command({"plan", "Show what a reload would change, and what takes a restart",
                                     [](CLI::App& command) { set_up(command, "plan"); }});

}  // namespace

std::string reload_in_words(const nlohmann::ordered_json& answer, bool planned) {
  std::string text;
  for (const auto& key : answer.at("restart")) text += key.get<std::string>() + ": takes a restart\n";
  for (const auto& line : answer.at("changes")) text += line.get<std::string>() + "\n";
  if (!text.empty()) return text;
  return planned ? "nothing would change\n" : "nothing has changed\n";
}

}  // namespace penumbra::cli
