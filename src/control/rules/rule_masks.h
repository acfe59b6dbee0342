// SPDX-License-Identifier: Apache-2.0
//
// The masks and headers that rule_generator.cc makes its rules of.
#pragma once

#include <cstdint>
#include <set>

#include "base/random.h"
#include "penumbra/rule.h"

namespace penumbra::control::rules {

/// The two fields whose uppermost bits keep rules apart: addresses, of OpenFlow MAC addresses.
enum class Side : std::uint8_t { source, destination };

/// Writes the lowest `bits` bits of `number` to the uppermost bits of that field that differ from header to header.
void set_anchor(RuleWords& words, RuleFields fields, Side side, unsigned bits, std::uint64_t number);

/// What a class's mask has to take of the two fields.
struct Anchors {
  unsigned source_bits = 0, destination_bits = 0;  ///< those of set_anchor()
  bool is_source_wild = false;                     ///< nothing of the source
};

/// Masks that are all different.
class MaskMaker {
 public:
  MaskMaker(Random& random, RuleFields fields) : random_(random), fields_(fields) {}
  /// Throws std::invalid_argument if it finds no new one.
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

/// A header that has all fields: of OpenFlow a segment of TCP or UDP over IPv4 with a VLAN tag.
RuleWords random_full_header(Random& random, RuleFields fields);

}  // namespace penumbra::control::rules
