// SPDX-License-Identifier: Apache-2.0
#include "control/rules/rule_masks.h"

#include <algorithm>
#include <stdexcept>

#include "control/rules/flow_fields.h"
#include "control/rules/places.h"

namespace penumbra::control::rules {
namespace {

/// An address of `bits` bits of a word, which may continue in the next word.
struct AddressField {
  std::size_t word;
  unsigned shift, bits;
  unsigned more_bits;   ///< Bits in the next word.
  unsigned fixed_bits;  ///< Number of uppermost bits that are equal in all headers.
  std::uint64_t fixed;
};

/// IPv6 addresses are global unicast (2000::/3). MAC addresses are locally administered unicast addresses.
AddressField address_field(RuleFields fields, Side side) {
  const bool is_source = side == Side::source;
  switch (fields) {
    case RuleFields::ipv4:
      return {0, is_source ? 32U : 0U, 32, 0, 0, 0};
    case RuleFields::ipv6:
      return {is_source ? 0U : 2U, 0, 64, 64, 3, 1};
    case RuleFields::openflow:
      break;
  }
  return {is_source ? 0U : 1U, 16, 48, 0, 8, 2};
}

std::uint64_t low_bits(unsigned count) {
  return count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// Returns a mask of the uppermost `count` of `bits` bits.
std::uint64_t high_bits(unsigned count, unsigned bits) {
  return low_bits(bits) & ~low_bits(bits - count);
}

}  // namespace

void set_anchor(RuleWords& words, RuleFields fields, Side side, unsigned bits, std::uint64_t number) {
  if (bits == 0) return;
  const AddressField field = address_field(fields, side);
  const unsigned shift = field.shift + field.bits - field.fixed_bits - bits;
  words[field.word] = (words[field.word] & ~(low_bits(bits) << shift)) | (number & low_bits(bits)) << shift;
}

RuleWords MaskMaker::make(const Anchors& anchors) {
  constexpr int kPatience = 20'000;
  for (int attempt = 0; attempt < kPatience; ++attempt) {
    const RuleWords mask = draw(anchors);
    if (made_.insert(mask).second) return mask;
  }
  throw std::invalid_argument("there are not so many different masks of these fields; ask for fewer classes");
}

RuleWords MaskMaker::draw(const Anchors& anchors) {
  RuleWords mask{};
  if (!anchors.is_source_wild) take_prefix(mask, Side::source, anchors.source_bits);
  take_prefix(mask, Side::destination, anchors.destination_bits);
  if (fields_ == RuleFields::openflow) {
    draw_openflow(mask);
  } else {
    take_ports(mask);
    if (one_in(2)) protocol_place(fields_).set(mask, 0xFF);
  }
  return mask;
}

/// Adds a prefix of the field to the mask: the shortest one possible, the whole field, or a length between.
void MaskMaker::take_prefix(RuleWords& mask, Side side, unsigned anchor_bits) {
  const AddressField field = address_field(fields_, side);
  const unsigned least = anchor_bits == 0 ? 0 : field.fixed_bits + anchor_bits;
  const unsigned most = field.bits + field.more_bits;
  unsigned length = least;
  if (one_in(2)) length = one_in(2) ? most : least + random_.below(most - least + 1);
  mask[field.word] |= high_bits(std::min(length, field.bits), field.bits) << field.shift;
  if (length > field.bits) mask[field.word + 1] |= high_bits(length - field.bits, field.more_bits);
}

void MaskMaker::take_ports(RuleWords& mask) {
  for (const Place place : {source_port_place(fields_), destination_port_place(fields_)}) {
    if (one_in(2)) place.set(mask, high_bits(one_in(2) ? 16 : 1 + random_.below(16), 16));
  }
}

void MaskMaker::draw_openflow(RuleWords& mask) {
  if (one_in(2)) openflow::kInPort.set(mask, openflow::kInPort.ones());
  if (one_in(2)) openflow::kVlan.set(mask, openflow::kVlan.ones());
  if (openflow::kVlan.get(mask) != 0 && one_in(2)) openflow::kVlanPriority.set(mask, openflow::kVlanPriorityMask);
  if (one_in(4)) return;
  openflow::kEthertype.set(mask, openflow::kEthertype.ones());
  for (const Place place : {openflow::kSource, openflow::kDestination}) {
    if (one_in(2)) place.set(mask, high_bits(one_in(2) ? 32 : 1 + random_.below(32), 32));
  }
  if (one_in(2)) kTosPlace.set(mask, openflow::kTosMask);
  if (one_in(2)) return;
  protocol_place(fields_).set(mask, 0xFF);
  take_ports(mask);
}

RuleWords random_full_header(Random& random, RuleFields fields) {
  RuleWords key{};
  for (std::size_t word = 0; word < words_of(fields); ++word) key[word] = random.next();
  for (const Side side : {Side::source, Side::destination}) {
    const AddressField field = address_field(fields, side);
    const unsigned shift = field.shift + field.bits - field.fixed_bits;
    if (field.fixed_bits > 0)
      key[field.word] = (key[field.word] & ~(low_bits(field.fixed_bits) << shift)) | field.fixed << shift;
  }
  key[words_of(fields) - 1] &= high_bits(32, 64);  // Keeps only the ports.
  protocol_place(fields).set(key, random.below(2) == 0 ? kTcpProtocol : kUdpProtocol);
  if (fields != RuleFields::openflow) return key;
  constexpr std::uint32_t kPorts = 48, kMostVlan = 4094;
  openflow::kInPort.set(key, 1 + random.below(kPorts));
  openflow::kEthertype.set(key, kIpType);
  key[openflow::kVlan.word] = 0;
  openflow::kVlan.set(key, 1 + random.below(kMostVlan));
  openflow::kVlanPriority.set(key, random.below(8));
  kTosPlace.set(key, std::uint64_t{random.below(64)} << 2);
  return key;
}

}  // namespace penumbra::control::rules
