// SPDX-License-Identifier: Apache-2.0
//
// The masks and headers from which rule_generator.cc makes its rules.
#pragma once

#include <cstdint>
#include <set>

#include "base/random.h"
#include "penumbra/rule.h"

namespace penumbra::control::rules {

/// The two fields whose uppermost bits keep rules apart: addresses, for OpenFlow MAC addresses.
enum class Side : std::uint8_t { source, destination };

/// Writes the lowest `bits` bits of `number` to the uppermost variable bits of the field.
void set_anchor(RuleWords& words, RuleFields fields, Side side, unsigned bits, std::uint64_t number);

/// Requirements of a mask for the two fields.
struct Anchors {
  unsigned source_bits = 0, destination_bits = 0;  ///< Number of bits that set_anchor() writes.
  bool is_source_wild = false;                     ///< The mask omits the source.
};

/// Generates masks that are all different.
class MaskMaker {
 public:
  MaskMaker(Random& random, RuleFields fields) : random_(random), fields_(fields) {}
  /// Returns a new mask. Throws std::invalid_argument if it finds none.
  RuleWords make(const Anchors& anchors);

 private:
  RuleWords draw(const Anchors& anchors);
  void take_prefix(RuleWords& mask, Side side, unsigned anchor_bits);
  void take_ports(RuleWords& mask);
  void draw_openflow(RuleWords& mask);
  bool one_in(std::uint32_t count) { return random_.below(count) == 0; }

  Random& random_;
  RuleFields fields_;
  std::set<RuleWords> made_;
};

/// Returns a random header with all fields. For OpenFlow it is a TCP or UDP packet over IPv4 with a VLAN tag.
RuleWords random_full_header(Random& random, RuleFields fields);

}  // namespace penumbra::control::rules
