// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace penumbra::ids {

/// The variables of rule headers, by name without "$". A value is a list like those of a rule's header.
struct Variables {
  std::map<std::string, std::string, std::less<>> addresses;
  std::map<std::string, std::string, std::less<>> ports;

  /// Returns the variables that Suricata's configuration file has by default.
  static Variables defaults();
};

}  // namespace penumbra::ids
