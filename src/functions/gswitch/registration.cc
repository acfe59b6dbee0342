// SPDX-License-Identifier: Apache-2.0
//
// Registers the function.
#include <stdexcept>
#include <system_error>

#include "base/row_limit.h"
#include "functions/gswitch/commands.h"
#include "functions/gswitch/gswitch.h"

namespace penumbra::gswitch {
namespace {

std::unique_ptr<Function> create_gswitch(const ConfigNode& config, const FunctionContext& context) {
  try {
    return make_gswitch(read_settings(config, context.ports.size()), context);
  } catch (const std::length_error& error) {
    throw config.at("flows").error(error.what());
  } catch (const std::system_error& error) {
    throw config.error(error.what());
  }
}

[[maybe_unused]] const bool kGSwitchRegistered =
    register_function({.name = "gswitch",
                       .summary = "a switch of OpenFlow: what a table of flows says",
                       .topics = {{"gswitch", "[all]: the flows, and what each has matched", {RowLimit::flag()}},
                                  {"gswitch-shader", "how the flows are searched, and why so"}},
                       .create = create_gswitch,
                       .commands = commands(),
                       .passes_on = PassesOn::nothing});

}  // namespace
}  // namespace penumbra::gswitch
