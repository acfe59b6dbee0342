// SPDX-License-Identifier: Apache-2.0
//
// A rule of packet classification: which headers it matches, and its priority. Whatever writes rules down (ClassBench
// files, OpenFlow flows) and whatever searches them (shaders and their tables' owners) speaks of these.
//
// The fields of a header stand in words, a key; a rule has a value and a mask for each word, and ranges for the two
// ports. Three sets of fields fit; the last word is the same in all of them, so that ports are always at one place:
//
//   ipv4      word 0  source address, destination address
//             word 1  source port, destination port, protocol, 0 (8 bits), 0 (16 bits)
//   ipv6      words 0 and 1  source address
//             words 2 and 3  destination address
//             word 4  as word 1 above
//   openflow  word 0  source MAC address, port that it came in by (16 bits)
//             word 1  destination MAC address, ethertype
//             word 2  source address, destination address (IPv4; of ARP the protocol's addresses)
//             word 3  0 (32 bits), VLAN (16 bits: 0xFFFF if there is no tag), VLAN priority (16 bits)
//             word 4  as word 1 above, but ToS behind the protocol: its upper 6 bits, the lower two are 0
//
// each from the uppermost bits down. `openflow` is the 12-tuple of OpenFlow 1.0 (Table 3 of its specification).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace penumbra {

enum class RuleFields : std::uint8_t { ipv4, ipv6, openflow };

/// Numbers of rules are 1 to this.
inline constexpr std::uint32_t kMostRules = 1'000'000;

inline constexpr std::size_t kRuleWords = 5;  ///< of the widest key
inline constexpr unsigned kSourcePortShift = 48, kDestinationPortShift = 32, kProtocolShift = 24, kTosShift = 16;

using RuleWords = std::array<std::uint64_t, kRuleWords>;

/// How many words a key of these fields has; what is behind them in RuleWords is 0.
constexpr std::size_t words_of(RuleFields fields) {
  return fields == RuleFields::ipv4 ? 2 : kRuleWords;
}

/// Ports from `first` to `last`, both included. `first` is at most `last`.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0xFFFF;

  bool operator==(const PortRange&) const = default;
  constexpr bool is_all() const { return first == 0 && last == 0xFFFF; }
  constexpr bool contains(std::uint16_t port) const { return first <= port && port <= last; }
};

/// What a rule matches. A range that a mask can say stands in the mask, and then the PortRange has all ports
/// (normalised()).
struct RuleMatch {
  RuleWords value{};  ///< has no bit that the mask has not
  RuleWords mask{};
  PortRange source_ports;
  PortRange destination_ports;

  bool operator==(const RuleMatch&) const = default;
  constexpr bool has_ranges() const { return !source_ports.is_all() || !destination_ports.is_all(); }
};

struct Rule {
  RuleMatch match;
  std::uint16_t priority = 0;  ///< the higher wins; among equal ones that which was added first

  bool operator==(const Rule&) const = default;
};

constexpr std::uint16_t source_port_of(std::uint64_t last_word) {
  return static_cast<std::uint16_t>(last_word >> kSourcePortShift);
}
constexpr std::uint16_t destination_port_of(std::uint64_t last_word) {
  return static_cast<std::uint16_t>(last_word >> kDestinationPortShift);
}

/// Whether a header, with the words of `fields`, is one of those.
constexpr bool matches(const RuleMatch& match, RuleFields fields, const RuleWords& key) {
  for (std::size_t word = 0; word < words_of(fields); ++word) {
    if (((key[word] ^ match.value[word]) & match.mask[word]) != 0) return false;
  }
  const std::uint64_t last = key[words_of(fields) - 1];
  return match.source_ports.contains(source_port_of(last)) &&
         match.destination_ports.contains(destination_port_of(last));
}

/// The same match in the one way in which it is written: bits of the value that the mask has not are 0, and a range
/// that is one prefix of ports is in value and mask, if the mask says nothing else of that port.
constexpr RuleMatch normalised(RuleMatch match, RuleFields fields) {
  std::uint64_t& value = match.value[words_of(fields) - 1];
  std::uint64_t& mask = match.mask[words_of(fields) - 1];
  const auto absorb = [&](PortRange& range, unsigned shift) {
    const std::uint64_t differing = range.first ^ range.last;
    const bool is_prefix = (differing & (differing + 1)) == 0 && (range.first & differing) == 0;
    if (!is_prefix || (mask >> shift & 0xFFFF) != 0) return;
    mask |= (0xFFFF & ~differing) << shift;
    value = (value & ~(std::uint64_t{0xFFFF} << shift)) | std::uint64_t{range.first} << shift;
    range = {};
  };
  absorb(match.source_ports, kSourcePortShift);
  absorb(match.destination_ports, kDestinationPortShift);
  for (std::size_t word = 0; word < kRuleWords; ++word) match.value[word] &= match.mask[word];
  return match;
}

}  // namespace penumbra
