// SPDX-License-Identifier: Apache-2.0
//
// `penumbra gen routes|traffic|rules|headers`.
#include "cli/gen.h"

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace penumbra::cli {
namespace {

void set_up_gen(CLI::App& command) {
  command.require_subcommand(1);
  set_up_gen_routes(*command.add_subcommand("routes", "Generate a routing table like the Internet's"));
  set_up_gen_traffic(*command.add_subcommand("traffic", "Generate a capture of IPv4 or IPv6 traffic"));
  set_up_gen_rules(*command.add_subcommand("rules", "Generate rules of packet classification"));
  set_up_gen_headers(*command.add_subcommand("headers", "Generate headers for a file of rules"));
}

const bool kGenCommand =
    register_command({"gen", "Generate routes, traffic, rules and headers, the same for the same seed", set_up_gen});

}  // namespace
}  // namespace penumbra::cli
