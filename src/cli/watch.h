// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/ask.h"

namespace penumbra::cli {

/// `show TOPIC ARGUMENTS... --watch SECONDS`: asks the router every so many seconds and prints its counters with their
/// rates (rates.h): on a terminal one table that renews itself, else one after another, with -j an object a line:
/// {"seconds": since the line before, or null, "rows": [...]}. Returns on SIGINT and SIGTERM. Throws Failure:
/// no_connection when the router has gone away or was not there.
void watch(const RouterAddress& address, const std::string& topic, const std::vector<std::string>& arguments,
           double seconds);

}  // namespace penumbra::cli
