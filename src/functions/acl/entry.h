// SPDX-License-Identifier: Apache-2.0
//
// Defines the entries of an access list. Each line of a file has one entry:
//
//   permit|deny [ipv4|ipv6] [src PREFIX] [dst PREFIX] [proto NAME|N] [sport N|N-M] [dport N|N-M] [icmp-type N
//   [icmp-code N]] [fragment first|later|any|none] [exthdr hbh|rt|frag|dst|ah]
//
// The first entry that matches a packet decides.
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

/// Selects the packets that a list applies to. All other packets pass.
enum class Family : std::uint8_t { both, ipv4, ipv6 };

/// Returns the format of the list's keys. RuleFields::ipv6 holds keys of both families: an IPv4 address occupies the
/// lower 32 bits. kFamilyBits of the last word distinguish the families, as in a flow_key. The bits below kFamilyBits
/// in the last word encode the FilterPart, in both formats.
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

/// narrow_key() returns the packet's key for lists of IPv4, wide_key() the key for all other lists.
inline rules_narrow_key narrow_key(const flow_key& flow, const FilterPart& part) {
  return {
      {flow.source[1] << 32 | flow.destination[1], (flow.tuple >> kProtocolShift << kProtocolShift) | bits_of(part)}};
}
inline rules_key wide_key(const flow_key& flow, const FilterPart& part) {
  constexpr std::uint64_t kOfTheFlow = (std::uint64_t{1} << kFamilyShift) - 1;  // VLAN and flags of the flow
  return {{flow.source[0], flow.source[1], flow.destination[0], flow.destination[1],
           (flow.tuple & ~kOfTheFlow) | bits_of(part)}};
}
inline bool is_ipv6(const flow_key& flow) {
  return (flow.tuple & kFamilyBits) == kIpv6Bits;
}

struct Entry {
  bool permits = false;
  RuleMatch match;         ///< normalised for fields_of() the list's family
  std::string text;        ///< the words of the entry
  std::uint32_t line = 0;  ///< line in the file; 0 for the default

  /// True if both entries match the same packets and have the same action.
  bool is_like(const Entry& other) const { return permits == other.permits && match == other.match; }
};

/// Reads the rest of a line as an entry. Throws InputError.
Entry read_entry(control::Line& line, Family family);
/// Reads a list. `#` begins a comment, and empty lines are skipped. Throws InputError with file, line and column.
std::vector<Entry> parse_entries(std::string_view text, const std::string& name, Family family);

}  // namespace penumbra::acl
