// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "functions/acl/entry.h"
#include "functions/rule_list/structure.h"
#include "penumbra/config_node.h"

namespace penumbra::acl {

/// The configuration of a list.
struct Settings {
  Family family = Family::both;
  rule_list::Structure structure;
  std::vector<Entry> entries;  ///< the file's, and behind them the default
};

/// Reads `{rules: FILE, default: permit|deny, family: both|ipv4|ipv6, shader: NAME|auto}`. Throws InputError.
Settings read_settings(const ConfigNode& config);

const char* name_of(Family family);

}  // namespace penumbra::acl
