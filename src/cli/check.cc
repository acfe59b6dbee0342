// SPDX-License-Identifier: Apache-2.0
//
// `penumbra check CONFIG`.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/output.h"
#include "runtime/router.h"

namespace penumbra::cli {
namespace {

void set_up(CLI::App& command) {
  const auto config = std::make_shared<std::string>();
  command.add_option("CONFIG", *config, "The configuration; the files it names are read too")
      ->required()
      ->type_name("FILE");
  command.callback([config] {
    runtime::check_pipeline(control::load_config(*config));
    write_output(*config + ": ok\n");
  });
}

const bool kRegistered =
    register_command({"check", "Check a configuration and the files it names, without running it", set_up});

}  // namespace
}  // namespace penumbra::cli
