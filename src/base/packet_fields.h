// SPDX-License-Identifier: Apache-2.0
//
// Defines the fields of a packet that flows match, their places in a sparse key, and their text. The meaning of each
// field is that of Open vSwitch (ovs-fields(7)).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "penumbra/rule.h"

namespace penumbra::packet_fields {

enum class Field : std::uint8_t {
  in_port,
  eth_src,
  eth_dst,
  eth_type,
  vlan_tpid,
  vlan_tci,
  nw_src,
  nw_dst,
  ipv6_src,
  ipv6_dst,
  ipv6_label,
  nw_proto,
  nw_tos,
  nw_ttl,
  nw_frag,
  tp_src,
  tp_dst,
  tcp_flags,
  nd_target,
  arp_sha,
  arp_tha,
  mpls_label,
  mpls_tc,
  mpls_bos,
  mpls_ttl,
};
inline constexpr std::size_t kFields = 25;

/// A number of up to 128 bits.
struct Number {
  std::uint64_t high = 0, low = 0;
  bool operator==(const Number&) const = default;
};

/// Describes a field. A field of 128 bits occupies the words `word` and `word + 1`.
struct FieldPlace {
  enum class Form : std::uint8_t { decimal, hexadecimal, mac, ipv4, ipv6 };
  std::string_view name;
  std::uint8_t word = 0;
  std::uint8_t shift = 0;
  std::uint8_t bits = 0;
  Form form = Form::decimal;
  bool can_be_set = false;  ///< by an action
};

/// The places by Field. The pages of functions have the same table.
inline constexpr std::array<FieldPlace, kFields> kPlaces{{
    {.name = "in_port", .word = 0, .shift = 0, .bits = 16},
    {.name = "eth_src", .word = 0, .shift = 16, .bits = 48, .form = FieldPlace::Form::mac, .can_be_set = true},
    {.name = "eth_dst", .word = 1, .shift = 16, .bits = 48, .form = FieldPlace::Form::mac, .can_be_set = true},
    {.name = "eth_type", .word = 1, .shift = 0, .bits = 16, .form = FieldPlace::Form::hexadecimal},
    {.name = "vlan_tpid", .word = 2, .shift = 48, .bits = 16, .form = FieldPlace::Form::hexadecimal},
    {.name = "vlan_tci", .word = 2, .shift = 32, .bits = 16, .form = FieldPlace::Form::hexadecimal},
    {.name = "nw_src", .word = 3, .shift = 32, .bits = 32, .form = FieldPlace::Form::ipv4, .can_be_set = true},
    {.name = "nw_dst", .word = 3, .shift = 0, .bits = 32, .form = FieldPlace::Form::ipv4, .can_be_set = true},
    {.name = "ipv6_src", .word = 6, .shift = 0, .bits = 128, .form = FieldPlace::Form::ipv6, .can_be_set = true},
    {.name = "ipv6_dst", .word = 8, .shift = 0, .bits = 128, .form = FieldPlace::Form::ipv6, .can_be_set = true},
    {.name = "ipv6_label",
     .word = 5,
     .shift = 32,
     .bits = 20,
     .form = FieldPlace::Form::hexadecimal,
     .can_be_set = true},
    {.name = "nw_proto", .word = 4, .shift = 24, .bits = 8},
    {.name = "nw_tos", .word = 4, .shift = 16, .bits = 8, .can_be_set = true},
    {.name = "nw_ttl", .word = 4, .shift = 8, .bits = 8, .can_be_set = true},
    {.name = "nw_frag", .word = 4, .shift = 0, .bits = 8},
    {.name = "tp_src", .word = 4, .shift = 48, .bits = 16, .can_be_set = true},
    {.name = "tp_dst", .word = 4, .shift = 32, .bits = 16, .can_be_set = true},
    {.name = "tcp_flags", .word = 2, .shift = 16, .bits = 16, .form = FieldPlace::Form::hexadecimal},
    {.name = "nd_target", .word = 10, .shift = 0, .bits = 128, .form = FieldPlace::Form::ipv6},
    {.name = "arp_sha", .word = 12, .shift = 16, .bits = 48, .form = FieldPlace::Form::mac},
    {.name = "arp_tha", .word = 13, .shift = 16, .bits = 48, .form = FieldPlace::Form::mac},
    {.name = "mpls_label", .word = 5, .shift = 12, .bits = 20},
    {.name = "mpls_tc", .word = 5, .shift = 9, .bits = 3},
    {.name = "mpls_bos", .word = 5, .shift = 8, .bits = 1},
    {.name = "mpls_ttl", .word = 5, .shift = 0, .bits = 8},
}};

constexpr const FieldPlace& place_of(Field field) {
  return kPlaces[static_cast<std::size_t>(field)];
}

/// Returns the number with the low `bits` bits set.
constexpr Number all_bits(unsigned bits) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  if (bits == 128) return {kAll, kAll};
  return {0, bits == 64 ? kAll : (std::uint64_t{1} << bits) - 1};
}

/// Returns the mask of the `length` highest of `bits` bits.
Number prefix_mask(unsigned length, unsigned bits);

/// The ethertype of RARP, whose packets have the fields of ARP.
inline constexpr std::uint16_t kRarpType = 0x8035;
/// The field vlan_tci has this bit for every tagged packet, in place of DEI (ovs-fields(7)).
inline constexpr std::uint64_t kTagPresent = 0x1000;
/// Bits of the field nw_frag.
inline constexpr std::uint64_t kAnyFragment = 1, kLaterFragment = 2;

/// Return a field of a key, and set it. set() takes a number within the field's bits.
constexpr Number get(const SparseWords& key, Field field) {
  const FieldPlace& place = place_of(field);
  if (place.bits == 128) return {key[place.word], key[place.word + 1]};
  return {0, key[place.word] >> place.shift & all_bits(place.bits).low};
}
constexpr void set(SparseWords& key, Field field, Number number) {
  const FieldPlace& place = place_of(field);
  if (place.bits == 128) {
    key[place.word] = number.high;
    key[place.word + 1] = number.low;
    return;
  }
  key[place.word] = (key[place.word] & ~(all_bits(place.bits).low << place.shift)) | number.low << place.shift;
}

/// The bits of a key that belong to some field.
SparseWords field_bits();

std::optional<Field> find_field(std::string_view name);

/// Returns "VALUE", or "VALUE/MASK" if the mask lacks bits of the field.
std::string field_text(Field field, Number value, Number mask);
/// Reads what field_text() returns. Bits of the value outside the mask become 0. Returns nothing for other text.
struct MaskedNumber {
  Number value, mask;
};
std::optional<MaskedNumber> parse_field(Field field, std::string_view text);

/// Returns the number of the receive port if the match is exact in it, else 0.
std::uint16_t in_port_of(const SparseMatch& match);

/// Returns "in_port=1,eth_type=0x0800", or "any" if the match has no field.
std::string match_text(const SparseMatch& match);

}  // namespace penumbra::packet_fields
