// SPDX-License-Identifier: Apache-2.0
//
// `penumbra doctor [CONFIG]`: checks if this machine is ready, and tells how to solve problems.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/doctor/check.h"
#include "cli/output.h"

namespace penumbra::cli {

std::vector<doctor::Check> doctor::all_checks() {
  std::vector<Check> checks;
  for (const auto& part : {memory_checks(), rights_checks(), card_checks(), interface_checks(), core_checks(),
                           node_checks(), gpu_checks()}) {
    checks.insert(checks.end(), part.begin(), part.end());
  }
  return checks;
}

namespace {

using doctor::State;

constexpr std::array<const char*, 3> kStates{"ok", "hint", "problem"};

struct DoctorOptions {
  std::string config;
  bool json = false;
};

const char* name_of(State state) {
  return kStates[static_cast<std::size_t>(state)];
}

void examine(const DoctorOptions& options) {
  std::optional<control::RouterConfig> config;
  if (!options.config.empty()) config = control::load_config(options.config);
  const doctor::Machine machine("/", config ? &*config : nullptr, doctor::features_of);
  auto list = nlohmann::ordered_json::array();
  std::string text;
  bool well = true;
  for (const auto& check : doctor::all_checks()) {
    for (const auto& [state, found, command] : check.probe(machine)) {
      const auto packages = doctor::missing_packages(machine, command);
      list.push_back({{"check", check.name},
                      {"state", name_of(state)},
                      {"text", found},
                      {"command", command},
                      {"packages", packages}});
      text += fmt::format("{:<8} {}: {}\n", name_of(state), check.name, found);
      if (!command.empty()) text += fmt::format("{:<8}   {}\n", "", command);
      if (!packages.empty()) {
        text += fmt::format("{:<8}   (needs what is not installed: apt install {})\n", "", fmt::join(packages, " "));
      }
      well = well && state != State::problem;
    }
  }
  using Handler = nlohmann::ordered_json::error_handler_t;
  write_output(options.json ? list.dump(2, ' ', false, Handler::replace) + "\n" : text);
  if (!well) throw Failure(ExitCode::failure, "");
}

void set_up_doctor(CLI::App& command) {
  const auto options = std::make_shared<DoctorOptions>();
  command.add_option("CONFIG", options->config, "A configuration: what it needs is looked at too")->type_name("FILE");
  add_json_flag(command, options->json);
  command.footer(
      "Changes nothing. Each problem comes with the command that mends it, for root, and Debian's package of a "
      "tool that is not installed.\n"
      "Ends with 0 if nothing is a problem, else with 1.");
  command.callback([options] { examine(*options); });
}

const bool kDoctorCommand = register_command(
    {"doctor", "Look at this machine: what a router needs, and the commands that mend it", set_up_doctor});

}  // namespace
}  // namespace penumbra::cli
