// SPDX-License-Identifier: Apache-2.0
//
// `penumbra check CONFIG`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/output.h"
#include "runtime/config_check.h"

namespace penumbra::cli {
namespace {

struct CheckOptions {
  std::string config;
  bool json = false;
};

void check(const CheckOptions& options) {
  const control::RouterConfig config = control::load_config(options.config);
  const std::vector<std::string> warnings = runtime::check_config(config);
  for (const std::string& warning : warnings) fmt::print(stderr, "{}\n", warning);
  const nlohmann::ordered_json result{{"ok", true}, {"file", options.config}, {"warnings", warnings}};
  write_output((options.json ? result.dump() : options.config + ": ok") + "\n");
}

void set_up_check(CLI::App& command) {
  const auto options = std::make_shared<CheckOptions>();
  command.add_option("CONFIG", options->config, "The configuration")->required()->type_name("FILE");
  add_json_flag(command, options->json);
  command.footer(
      "Reads the configuration and the files that it names: routes, neighbours, captures to their end. Sinks' folders\n"
      "must be there, and the control socket's. Devices are not opened, and nothing is written. Whatever the router\n"
      "would refuse without opening a device is an error; what can be right but seldom is, or what this machine "
      "lacks,\n"
      "is a warning.");
  command.callback([options] { check(*options); });
}

const bool kCheckCommand =
    register_command({"check", "Check a configuration and the files it names, without running it", set_up_check});

}  // namespace
}  // namespace penumbra::cli
