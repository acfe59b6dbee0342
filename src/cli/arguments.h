// SPDX-License-Identifier: Apache-2.0
//
// Kinds of option values that several commands take.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace penumbra::cli {

/// One of the words. Shell completion offers them.
CLI::Validator one_of(std::vector<std::string> words);
/// A duration, given to the variable in seconds: "250ms", "10s", "2m", "1h"; a bare number is seconds. From
/// a millisecond to ten years, which any clock's count of nanoseconds holds.
CLI::Validator as_seconds();
/// The same in the range that the router takes for --confirm.
CLI::Validator as_confirm_time();
/// A count: "900000", "900k", "2M", "1G".
CLI::Validator as_count();
/// A seed: any number of 64 bits.
CLI::Validator as_seed();
/// The names of all engines of this build and `auto`.
std::vector<std::string> engine_names();
/// An engine as check_engine() takes it. Shell completion offers engine_names().
CLI::Validator as_engine();

/// Lets an option stand without a value, which then counts as `value`.
CLI::Option* value_is_optional(CLI::Option& option, const std::string& value);

/// `-j,--json`, as every command that prints results has it.
CLI::Option* add_json_flag(CLI::App& command, bool& json);

}  // namespace penumbra::cli
