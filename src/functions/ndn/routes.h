// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tables/ndn_names/name_table.h"

namespace penumbra::ndn {

/// A route that no packet takes: its line in the text, and its prefix as it is written.
struct UnusedRoute {
  int line;
  std::string prefix;
};
inline constexpr std::size_t kMostUnused = 8;

/// Adds the routes of a text to a table: one a line, `PREFIX [nexthop] FACE`, as `nfdc route add` has it. `#` begins a
/// comment, empty lines are skipped. A next hop is the face's index in `faces`. Throws InputError with `name`, line and
/// column; DigestTaken. Returns the first `kMostUnused` routes that no packet takes: names under /localhost cross no
/// link (NFD Developer's Guide, "Scope Control").
std::vector<UnusedRoute> parse_name_routes(std::string_view text, const std::string& name,
                                           const std::vector<std::string>& faces, NameTable& table);

}  // namespace penumbra::ndn
