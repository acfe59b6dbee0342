// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tables/ndn_names/name_table.h"

namespace penumbra::ndn {

/// Represents a route that no packet takes, by its line in the text and its prefix as written.
struct UnusedRoute {
  int line;
  std::string prefix;
};
inline constexpr std::size_t kMostUnused = 8;

/// Adds the routes of a text to a table. Each line has one route, `PREFIX [nexthop] FACE`, like the arguments of `nfdc
/// route add`. `#` begins a comment; empty lines are skipped. A next hop is the face's index in `faces`.
///
/// Returns the first `kMostUnused` routes that no packet takes. Names under /localhost cross no link (NFD Developer's
/// Guide, "Scope Control"). Throws InputError with `name`, line and column, and DigestTaken.
std::vector<UnusedRoute> parse_name_routes(std::string_view text, const std::string& name,
                                           const std::vector<std::string>& faces, NameTable& table);

}  // namespace penumbra::ndn
