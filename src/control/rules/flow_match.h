// SPDX-License-Identifier: Apache-2.0
//
// The fields of a flow, read one by one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "control/line_reader.h"
#include "control/rules/flow_fields.h"

namespace penumbra::control::rules {

/// `key` or `key=value`: what stands between commas and blanks.
struct FlowWord {
  std::string_view whole, key, value;
  bool has_value = false;
};
/// Takes the next one off the front of `text`; `whole` is empty at its end.
FlowWord take_flow_word(std::string_view& text);
/// The value of a word that has to have one. Throws InputError.
std::string_view require_value(const Line& line, const FlowWord& word);

/// Takes the words of one match, or of one header.
class FlowMatchReader {
 public:
  enum class What : std::uint8_t { rule, header };

  FlowMatchReader(const Line& line, What what) : line_(line), what_(what) {}

  /// Whether the word is a field's, or the name of a protocol; then it has been taken. Throws InputError.
  bool take(const FlowWord& word);
  /// All words have been taken: the match, normalised; of a header its words are the values. Throws InputError if a
  /// field is named that not all such packets have.
  RuleMatch finish();

 private:
  /// A value and its mask as they stand.
  struct Operand {
    std::string_view value;
    std::optional<std::string_view> mask;
  };
  Operand split(std::string_view text, bool maskable) const;
  void take_field(const FlowField& field, std::string_view whole, std::string_view text);
  void take_vlan(std::string_view whole, std::string_view text);
  void take_vlan_priority(std::string_view whole, std::string_view text);
  void take_vlan_tci(std::string_view whole, std::string_view text);
  void set(Place place, std::uint64_t value, std::uint64_t mask, std::string_view word);
  std::uint64_t number(std::string_view word, std::uint64_t most, std::string_view what) const;
  std::uint64_t operand(const FlowField& field, std::string_view word) const;
  std::uint64_t mask_of(const FlowField& field, std::string_view word) const;
  bool says_nothing(std::string_view text) const;
  void check_layers() const;
  void finish_vlan();

  const Line& line_;
  What what_;
  RuleMatch match_;
  std::string_view vlan_word_, priority_word_;  ///< that said something of them
  struct Need {
    std::string_view word;
    FlowLayer layer;
  };
  std::vector<Need> needs_;
};

}  // namespace penumbra::control::rules
