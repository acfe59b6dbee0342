// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace penumbra::cli {

/// `--confirm TIME`, given to the variable in seconds; it stays empty if it is
/// not given.
void add_confirm_option(CLI::App& command, std::string& seconds);
/// When what an answer says is taken back, a line; nothing if it stays.
std::string unconfirmed_in_words(const nlohmann::ordered_json& answer);

/// Prints the warnings of an answer to standard error, one a line.
void print_warnings(const nlohmann::ordered_json& answer);

/// For people: a router's answer to `reload`, or if `planned` to `plan`.
std::string reload_in_words(const nlohmann::ordered_json& answer, bool planned);

}  // namespace penumbra::cli
