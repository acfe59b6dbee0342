// SPDX-License-Identifier: Apache-2.0
//
// The entries of an access list as a file has them, one a line:
//
//   permit|deny [ipv4|ipv6] [src PREFIX] [dst PREFIX] [proto NAME|N] [sport N|N-M] [dport N|N-M] [icmp-type N
//   [icmp-code N]] [fragment first|later|any|none] [exthdr hbh|rt|frag|dst|ah]
//
// The first one that matches a packet decides.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "control/line_reader.h"
#include "penumbra/rule.h"
#include "tables/flows/flow_packet.h"
#include "tables/rules/rules.shader.h"

namespace penumbra::acl {

/// Whose packets a list decides on. Others pass.
enum class Family : std::uint8_t { both, ipv4, ipv6 };

/// What the keys of such a list are. Those of RuleFields::ipv6 are of both families here: an address of IPv4 stands in
/// the lower 32 bits, and kFamilyBits of the last word tell which it is, as in a flow_key. Below them the last word of
/// either key has what a FilterPart says.
constexpr RuleFields fields_of(Family family) {
  return family == Family::ipv4 ? RuleFields::ipv4 : RuleFields::ipv6;
}
inline constexpr unsigned kFamilyShift = 22, kExtensionShift = 8;
inline constexpr std::uint64_t kFamilyBits = std::uint64_t{3} << kFamilyShift,
                               kIpv4Bits = std::uint64_t{1} << kFamilyShift,
                               kIpv6Bits = std::uint64_t{2} << kFamilyShift, kAnyFragmentBit = std::uint64_t{1} << 21,
                               kLaterFragmentBit = std::uint64_t{1} << 20;

inline std::uint64_t bits_of(const FilterPart& part) {
  return (part.is_fragment ? kAnyFragmentBit : 0) | (part.is_later_fragment ? kLaterFragmentBit : 0) |
         std::uint64_t{part.extension_headers} << kExtensionShift;
}

/// The packet's key for lists of one family and for lists of both.
inline rules_narrow_key narrow_key(const flow_key& flow, const FilterPart& part) {
  return {
      {flow.source[1] << 32 | flow.destination[1], (flow.tuple >> kProtocolShift << kProtocolShift) | bits_of(part)}};
}
inline rules_key wide_key(const flow_key& flow, const FilterPart& part) {
  constexpr std::uint64_t kOfTheFlow = (std::uint64_t{1} << kFamilyShift) - 1;  // its VLAN and flags
  return {{flow.source[0], flow.source[1], flow.destination[0], flow.destination[1],
           (flow.tuple & ~kOfTheFlow) | bits_of(part)}};
}
inline bool is_ipv6(const flow_key& flow) {
  return (flow.tuple & kFamilyBits) == kIpv6Bits;
}

struct Entry {
  bool permits = false;
  RuleMatch match;         ///< normalised, of fields_of() the list's family
  std::string text;        ///< its words
  std::uint32_t line = 0;  ///< in the file; 0: of the default

  /// Whether they do the same.
  bool is_like(const Entry& other) const { return permits == other.permits && match == other.match; }
};

/// Reads the rest of a line as an entry. Throws InputError.
Entry read_entry(control::Line& line, Family family);
/// Reads a list: `#` begins a comment, empty lines are skipped. Throws InputError with file, line and column.
std::vector<Entry> parse_entries(std::string_view text, const std::string& name, Family family);

}  // namespace penumbra::acl
