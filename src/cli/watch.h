// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/ask.h"

namespace penumbra::cli {

/// Implements `show TOPIC ARGUMENTS... --watch SECONDS`: asks the router every `seconds` seconds and prints its
/// counters with rates (rates.h). On a terminal, one table updates itself; otherwise, each answer is a new table. With
/// -j, each line is an object: {"seconds": since the previous line, or null, "rows": [...]}. Returns on SIGINT and
/// SIGTERM. Throws Failure (no_connection) if the router does not answer.
void watch(const RouterAddress& address, const std::string& topic, const std::vector<std::string>& arguments,
           double seconds);

}  // namespace penumbra::cli
