// SPDX-License-Identifier: Apache-2.0
//
// The owner of the table that patterns.shader.h reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "penumbra/table.h"
#include "tables/patterns/patterns.shader.h"

namespace penumbra {

/// The compact automaton of a list of patterns. Any thread may read it.
class Patterns {
 public:
  static constexpr std::size_t kLeastBytes = 3;  ///< Of a pattern. Shorter ones would be found nearly everywhere.

  /// Throws std::invalid_argument for a pattern of fewer than kLeastBytes bytes, and std::length_error if the automaton
  /// would be too large.
  explicit Patterns(std::span<const std::string> patterns);
  ~Patterns();
  Patterns(const Patterns&) = delete;
  Patterns& operator=(const Patterns&) = delete;

  /// Returns a number that no other automaton of this process has. The shader writes it with each result.
  std::uint32_t generation() const { return view().generation; }
  const patterns_view& view() const;
  /// Returns the indexes, in the list of patterns, of those that end where the shader found `set`.
  std::span<const std::uint32_t> patterns_of(std::uint32_t set) const;
  /// Returns the bytes that the shader may read.
  std::size_t bytes() const;

  /// Calls `note(set)` for every set that the text has. A set may be noted several times.
  template <class Note>
  void search(std::span<const std::uint8_t> text, const Note& note) const {
    patterns_found found;
    std::uint32_t state = search_part(text, PATTERNS_BEGIN, found);
    if (found.count > PATTERNS_MOST_FOUND) {
      // A part of so many bytes cannot have more sets than are listed.
      state = PATTERNS_BEGIN;
      for (; !text.empty(); text = text.subspan(std::min<std::size_t>(text.size(), PATTERNS_MOST_FOUND))) {
        state = search_part(text.first(std::min<std::size_t>(text.size(), PATTERNS_MOST_FOUND)), state, found);
        for (std::uint32_t i = 0; i < found.count; ++i) note(found.set[i]);
      }
      return;
    }
    for (std::uint32_t i = 0; i < found.count; ++i) note(found.set[i]);
  }

 private:
  friend class PatternTable;
  struct Memory;

  std::uint32_t search_part(std::span<const std::uint8_t> text, std::uint32_t before, patterns_found& found) const;

  std::unique_ptr<Memory> memory_;
};

/// Owns the table that the shader reads. All calls come from one thread.
class PatternTable {
 public:
  /// The table is empty: no text has any pattern.
  explicit PatternTable(GracePeriods& readers);

  /// Replaces all patterns, and waits until nobody reads those before the last.
  void publish(std::shared_ptr<const Patterns> patterns);

  const std::shared_ptr<const Patterns>& patterns() const { return current_; }
  Table& table() { return table_; }

 private:
  GracePeriods& readers_;
  std::shared_ptr<const Patterns> current_;
  std::vector<std::pair<std::shared_ptr<const Patterns>, std::uint64_t>> former_;  ///< With their grace periods.
  Table table_{"patterns"};
};

}  // namespace penumbra
