// SPDX-License-Identifier: Apache-2.0
//
// `penumbra route add ...`: commands that functions register.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace penumbra {
struct FunctionCommand;
}  // namespace penumbra

namespace penumbra::cli {

/// Adds the actions of the command and `show` to `app`.
void set_up_function_command(CLI::App& app, const FunctionCommand& command);

/// Describes the changes of a command, one line per stage: "ipv4: route: 1 added".
std::string changes_in_words(const nlohmann::ordered_json& answer);

}  // namespace penumbra::cli
