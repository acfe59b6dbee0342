// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "shaders/ndn_names/name_table.h"

namespace penumbra::ndn {

/// Adds the routes of a text to a table: one a line, `PREFIX [nexthop] FACE`, as `nfdc route add` has it. `#` begins a
/// comment, empty lines are skipped. A next hop is the face's index in `faces`. Throws InputError with `name`, line and
/// column; DigestTaken.
void parse_name_routes(std::string_view text, const std::string& name, const std::vector<std::string>& faces,
                       NameTable& table);

}  // namespace penumbra::ndn
