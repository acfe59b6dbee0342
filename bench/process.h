// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace penumbra::bench {

/// Runs a program and returns what it wrote on standard output. With `interrupt_after` it is sent SIGINT after so many
/// seconds; it is killed if it has not ended five seconds later (without: a minute after its start), and also when this
/// process ends. Throws std::runtime_error, with what it wrote on standard error, unless it ends with status 0.
std::string run_program(const std::vector<std::string>& arguments, std::optional<double> interrupt_after = {});

/// The path of a program on the PATH, or nothing.
std::optional<std::string> find_program(const std::string& name);

}  // namespace penumbra::bench
