// SPDX-License-Identifier: Apache-2.0
//
// Defines the positions of the fields of a header in its words (penumbra/rule.h), and the forms of masks.
#pragma once

#include <cstdint>

#include "penumbra/rule.h"

namespace penumbra::control::rules {

/// A field of `bits` bits in a word, `shift` bits above the lowest.
struct Place {
  std::uint8_t word, shift, bits;

  bool operator==(const Place&) const = default;
  constexpr std::uint64_t ones() const { return (std::uint64_t{1} << bits) - 1; }
  constexpr std::uint64_t get(const RuleWords& words) const { return words[word] >> shift & ones(); }
  constexpr void set(RuleWords& words, std::uint64_t value) const {
    words[word] = (words[word] & ~(ones() << shift)) | (value & ones()) << shift;
  }
};

/// Defines the 5-tuple of IPv4.
namespace ipv4 {
inline constexpr Place kSource{0, 32, 32}, kDestination{0, 0, 32};
}

/// Defines the 12 fields of OpenFlow 1.0. Three bits of a priority count, and six bits of a ToS.
namespace openflow {
inline constexpr Place kSourceMac{0, 16, 48}, kInPort{0, 0, 16}, kDestinationMac{1, 16, 48}, kEthertype{1, 0, 16},
    kSource{2, 32, 32}, kDestination{2, 0, 32}, kVlan{3, 16, 16}, kVlanPriority{3, 0, 16};
inline constexpr std::uint64_t kNoVlan = 0xFFFF;
inline constexpr std::uint64_t kVlanPriorityMask = 7, kTosMask = 0xFC;
/// Mask of kVlan that requires a tag if the value is 0. VLANs have 12 bits, and only kNoVlan sets these upper bits.
inline constexpr std::uint64_t kTaggedMask = 0xF000;
}  // namespace openflow

/// Returns a position in the last word, whose layout is the same for all kinds of fields, except for the ToS.
constexpr Place last_word_place(RuleFields fields, unsigned shift, std::uint8_t bits) {
  return {static_cast<std::uint8_t>(words_of(fields) - 1), static_cast<std::uint8_t>(shift), bits};
}
constexpr Place source_port_place(RuleFields fields) {
  return last_word_place(fields, kSourcePortShift, 16);
}
constexpr Place destination_port_place(RuleFields fields) {
  return last_word_place(fields, kDestinationPortShift, 16);
}
constexpr Place protocol_place(RuleFields fields) {
  return last_word_place(fields, kProtocolShift, 8);
}
inline constexpr Place kTosPlace = last_word_place(RuleFields::openflow, kTosShift, 8);

/// Returns true if a mask of `bits` bits is a prefix.
constexpr bool is_prefix_mask(std::uint64_t mask, unsigned bits) {
  const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const std::uint64_t wild = ~mask & all;
  return (wild & (wild + 1)) == 0;
}

}  // namespace penumbra::control::rules
