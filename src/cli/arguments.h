// SPDX-License-Identifier: Apache-2.0
//
// Kinds of option values that several commands use.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace penumbra::cli {

/// Accepts one of the words. Shell completion offers them.
CLI::Validator one_of(std::vector<std::string> words);
/// Accepts a duration and converts it to seconds: "250ms", "10s", "2m", "1h"; a plain number is seconds. The range is a
/// millisecond to ten years, so that nanoseconds fit in 64 bits.
CLI::Validator as_seconds();
/// The same in the range that the router takes for --confirm.
CLI::Validator as_confirm_time();
/// A count: "900000", "900k", "2M", "1G".
CLI::Validator as_count();
/// Accepts a seed: any 64-bit number.
CLI::Validator as_seed();
/// Returns `auto` and the names of all engines of this build.
std::vector<std::string> engine_names();
/// Accepts an engine like check_engine(). Shell completion offers engine_names().
CLI::Validator as_engine();

/// Makes the value of an option optional; without a value, the option has the value `value`.
CLI::Option* value_is_optional(CLI::Option& option, const std::string& value);

/// Adds the flag `-j,--json` of all commands that print results.
CLI::Option* add_json_flag(CLI::App& command, bool& json);

}  // namespace penumbra::cli
