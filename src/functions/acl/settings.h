// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ipv6_chain.h"
#include "functions/acl/entry.h"
#include "functions/rule_list/structure.h"
#include "penumbra/config_node.h"

namespace penumbra::acl {

/// What is dropped before any entry is asked. No value lets a packet pass that cannot be read.
struct Parsing {
  bool drops_fragments = false;
  std::uint8_t extension_headers = Ipv6Chain::kMostHeaders;  ///< more of them are unparsable

  bool operator==(const Parsing&) const = default;
};

/// The configuration of a list.
struct Settings {
  Family family = Family::both;
  Parsing parsing;
  rule_list::Structure structure;
  std::vector<Entry> entries;         ///< the file's, followed by the default
  std::vector<std::string> warnings;  ///< of entries that never decide, each with its place
};

/// Reads `{rules: FILE, default: permit|deny, family: both|ipv4|ipv6, fragments: entries|drop, extension_headers: N,
/// shader: NAME|auto}`. Throws InputError.
Settings read_settings(const ConfigNode& config);

const char* name_of(Family family);

}  // namespace penumbra::acl
