// SPDX-License-Identifier: Apache-2.0
//
// Reads the fields of a flow one by one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "control/line_reader.h"
#include "control/rules/flow_fields.h"

namespace penumbra::control::rules {

/// Holds `key` or `key=value`, delimited by commas and blanks.
struct FlowWord {
  std::string_view whole, key, value;
  bool has_value = false;
};
/// Takes the next word off the front of `text` and returns it. At the end `whole` is empty.
FlowWord take_flow_word(std::string_view& text);
/// Returns the value of a word. Throws InputError if the word has none.
std::string_view require_value(const Line& line, const FlowWord& word);

/// Collects the words of one match or one header.
class FlowMatchReader {
 public:
  enum class What : std::uint8_t { rule, header };

  FlowMatchReader(const Line& line, What what) : line_(line), what_(what) {}

  /// Consumes the word if it is a field or the name of a protocol, and returns true if so. Throws InputError.
  bool take(const FlowWord& word);
  /// Returns the match after all words were taken. For a header, the values of the match are those of the header.
  /// Throws InputError for a field without its prerequisites.
  SparseMatch finish();

 private:
  /// Holds a value and its mask as written.
  struct Operand {
    std::string_view value;
    std::optional<std::string_view> mask;
  };
  Operand split(std::string_view text, bool maskable) const;
  void take_field(const FlowField& field, std::string_view whole, std::string_view text);
  void take_vlan(std::string_view whole, std::string_view text);
  void take_vlan_priority(std::string_view whole, std::string_view text);
  void take_tag(std::string_view whole, std::string_view text, std::uint64_t bits);
  void set_tag(std::uint64_t value, std::uint64_t mask);
  void set(packet_fields::Field field, packet_fields::MaskedNumber number, std::uint64_t part, std::string_view word);
  std::uint64_t number(std::string_view word, std::uint64_t most, std::string_view what) const;
  packet_fields::Number operand(const FlowField& field, std::string_view word) const;
  packet_fields::Number mask_of(const FlowField& field, std::string_view word) const;
  packet_fields::MaskedNumber masked_operand(const FlowField& field, std::string_view text) const;
  bool says_nothing(std::string_view text) const;
  void check_layers() const;
  void finish_vlan();

  const Line& line_;
  What what_;
  SparseMatch match_;
  std::string_view vlan_word_, priority_word_;  ///< Words that have set the VLAN and the priority.
  bool has_no_tag_ = false;                     ///< The words say that there is no tag.
  struct Need {
    std::string_view word;
    FlowLayer layer;
  };
  std::vector<Need> needs_;
};

}  // namespace penumbra::control::rules
