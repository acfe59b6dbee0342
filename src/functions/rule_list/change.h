// SPDX-License-Identifier: Apache-2.0
//
// Applies commands to a list of entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "functions/rule_list/list.h"
#include "penumbra/command.h"

namespace penumbra::rule_list {

/// Marks an entry that a command added, as its `line`. No file contains such an entry.
inline constexpr std::uint32_t kByCommand = std::numeric_limits<std::uint32_t>::max();

/// Holds a list after a command, with the number of changes.
template <class Entry>
struct Edited {
  std::vector<Entry> entries;
  Change::Counts counts;
};

/// Returns the entries that only one of the lists has as "- ENTRY" and "+ ENTRY", at most `most` lines. A moved entry
/// appears as both.
template <class Entry, class Text>
std::vector<std::string> differing(const std::vector<Entry>& before, const std::vector<Entry>& after,
                                   const Text& text_of, std::size_t most) {
  std::vector<std::string> lines;
  std::vector<bool> goes_on(before.size());
  const Changes changes = compare<Entry>(before, after);
  for (const std::uint32_t kept : changes.kept) {
    if (kept != 0) goes_on[kept - 1] = true;
  }
  for (std::size_t i = 0; i < before.size() && lines.size() < most; ++i) {
    if (!goes_on[i]) lines.push_back("- " + text_of(before[i]));
  }
  for (std::size_t i = 0; i < after.size() && lines.size() < most; ++i) {
    if (changes.kept[i] == 0) lines.push_back("+ " + text_of(after[i]));
  }
  return lines;
}

}  // namespace penumbra::rule_list
