// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "functions/acl/entry.h"
#include "functions/rule_list/structure.h"
#include "penumbra/config_node.h"
#include "penumbra/packet.h"

namespace penumbra::acl {

/// Selects the packets to drop before any entry is checked. Packets that cannot be parsed are dropped with every
/// setting.
struct Parsing {
  bool drops_fragments = false;
  std::uint8_t extension_headers =
      PacketHeaders::kMostExtensions;  ///< maximum number of headers; packets with more are dropped as unparsable

  bool operator==(const Parsing&) const = default;
};

/// Holds the configuration of a list.
struct Settings {
  Family family = Family::both;
  Parsing parsing;
  rule_list::Structure structure;
  std::vector<Entry> entries;         ///< entries of the file, followed by the default
  std::vector<std::string> warnings;  ///< warnings about entries that never decide, each with its place
};

/// Reads `{rules: FILE, default: permit|deny, family: both|ipv4|ipv6, fragments: entries|drop, extension_headers: N,
/// shader: NAME|auto}`. Throws InputError.
Settings read_settings(const ConfigNode& config);

const char* name_of(Family family);

}  // namespace penumbra::acl
