// SPDX-License-Identifier: Apache-2.0
//
// The files classification.config and reference.config.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace penumbra::ids {

struct Classification {
  std::string description;
  std::uint32_t priority = 3;
};

/// By the name that `classtype` has.
using Classifications = std::map<std::string, Classification, std::less<>>;
/// The start of a reference's URL, by the name of the system in small letters.
using References = std::map<std::string, std::string, std::less<>>;

/// Reads lines "config classification: NAME,DESCRIPTION,PRIORITY". The first entry of a name counts. Throws RuleError
/// with the place of a wrong line.
void read_classifications(std::string_view text, const std::string& file, Classifications& classifications);
/// Reads lines "config reference: NAME URL".
void read_references(std::string_view text, const std::string& file, References& references);

}  // namespace penumbra::ids
