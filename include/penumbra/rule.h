// SPDX-License-Identifier: Apache-2.0
//
// Defines rules of packet classification: the headers that a rule matches, and its priority. Readers of rules
// (ClassBench files, OpenFlow flows) and the classifiers share these types.
//
// The fields of a header form a key of 64-bit words. A rule has a value and a mask for each word, and ranges for the
// two ports. There are three layouts. The last word is equal in all layouts, so that ports are always at one place:
//
// - `ipv4`, word 0: source address, destination address.
// - `ipv4`, word 1: source port, destination port, protocol, 0 (8 bits), 0 (16 bits).
// - `ipv6`, words 0 and 1: source address.
// - `ipv6`, words 2 and 3: destination address.
// - `ipv6`, word 4: like word 1 of `ipv4`.
// - `openflow`, word 0: source MAC address, receive port (16 bits).
// - `openflow`, word 1: destination MAC address, ethertype.
// - `openflow`, word 2: source address, destination address (IPv4; for ARP the protocol's addresses).
// - `openflow`, word 3: 0 (32 bits), VLAN (16 bits: 0xFFFF without a tag), VLAN priority (16 bits).
// - `openflow`, word 4: like word 1 of `ipv4`, but the ToS follows the protocol: its upper 6 bits, the lower two are 0.
//
// Each word is filled from its most significant bits down. `openflow` is the 12-tuple of OpenFlow 1.0 (Table 3 of its
// specification).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace penumbra {

enum class RuleFields : std::uint8_t { ipv4, ipv6, openflow };

/// The largest number of a rule; numbers start at 1.
inline constexpr std::uint32_t kMostRules = 1'000'000;

inline constexpr std::size_t kRuleWords = 5;  ///< Words of the widest key.
inline constexpr unsigned kSourcePortShift = 48, kDestinationPortShift = 32, kProtocolShift = 24, kTosShift = 16;

using RuleWords = std::array<std::uint64_t, kRuleWords>;

/// Returns the number of words of a key. Further words in RuleWords are 0.
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

/// The headers that a rule matches. If a mask can express a port range, normalised() moves the range into the mask, and
/// the PortRange has all ports.
struct RuleMatch {
  RuleWords value{};  ///< Only bits of `mask` are set.
  RuleWords mask{};
  PortRange source_ports;
  PortRange destination_ports;

  bool operator==(const RuleMatch&) const = default;
  constexpr bool has_ranges() const { return !source_ports.is_all() || !destination_ports.is_all(); }
};

struct Rule {
  RuleMatch match;
  std::uint16_t priority = 0;  ///< The higher priority wins. Among equal priorities the rule that was added first wins.

  bool operator==(const Rule&) const = default;
};

constexpr std::uint16_t source_port_of(std::uint64_t last_word) {
  return static_cast<std::uint16_t>(last_word >> kSourcePortShift);
}
constexpr std::uint16_t destination_port_of(std::uint64_t last_word) {
  return static_cast<std::uint16_t>(last_word >> kDestinationPortShift);
}

/// Words of a sparse key, which has the fields of base/packet_fields.h. A mask uses few of them.
inline constexpr std::size_t kSparseWords = 14;
using SparseWords = std::array<std::uint64_t, kSparseWords>;

/// The keys that a sparse rule matches. Bits of the value outside the mask are 0.
struct SparseMatch {
  SparseWords value{};
  SparseWords mask{};

  bool operator==(const SparseMatch&) const = default;
  constexpr bool matches(const SparseWords& key) const {
    for (std::size_t word = 0; word < key.size(); ++word) {
      if ((key[word] & mask[word]) != value[word]) return false;
    }
    return true;
  }
};

/// Returns true if `match` matches `key`, a header in the layout of `fields`.
constexpr bool matches(const RuleMatch& match, RuleFields fields, const RuleWords& key) {
  for (std::size_t word = 0; word < words_of(fields); ++word) {
    if (((key[word] ^ match.value[word]) & match.mask[word]) != 0) return false;
  }
  const std::uint64_t last = key[words_of(fields) - 1];
  return match.source_ports.contains(source_port_of(last)) &&
         match.destination_ports.contains(destination_port_of(last));
}

/// Returns the canonical form of `match`. Bits of the value outside the mask become 0. A port range that is a single
/// prefix moves into value and mask, if the mask has no bits of that port.
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
