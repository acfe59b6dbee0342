// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace penumbra::cli {

/// Adds `--confirm TIME`, which sets the variable in seconds; without the option, the variable stays empty.
void add_confirm_option(CLI::App& command, std::string& seconds);
/// Returns a line with the time at which an unconfirmed change will be undone, or nothing if the change stays.
std::string unconfirmed_in_words(const nlohmann::ordered_json& answer);

/// Prints the warnings of an answer to standard error, one a line.
void print_warnings(const nlohmann::ordered_json& answer);

/// For people: a router's answer to `reload`, or if `planned` to `plan`.
std::string reload_in_words(const nlohmann::ordered_json& answer, bool planned);

}  // namespace penumbra::cli
