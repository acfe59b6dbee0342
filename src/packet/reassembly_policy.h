// SPDX-License-Identifier: Apache-2.0
//
// Decides which of two overlapping fragments gives the bytes of a datagram. Hosts differ, so an observer must decide as
// the destination does. The names are those of Snort and Suricata. The sources are U. Shankar, V. Paxson: "Active
// Mapping", 2003, section 4.1, and J. Novak: "Target-Based Fragmentation Reassembly", 2005.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace penumbra {

enum class OverlapPolicy : std::uint8_t {
  bsd,        ///< a held fragment that begins before or with the new one wins
  bsd_right,  ///< a held fragment that begins after the new one wins
  linux_old,  ///< a held fragment that begins before the new one wins; Linux before 4.19
  first,      ///< a held fragment wins
  last,       ///< the new fragment wins
  windows,    ///< a held fragment wins, unless the new one begins before it and ends after it
  solaris,    ///< a held fragment wins, unless the new one begins before it and ends with or after it
  drop,       ///< the datagram is dropped: IPv6 always (RFC 5722), and IPv4 in Linux since 4.19
};

/// The names of the policies, in the order of OverlapPolicy.
inline constexpr std::array<std::string_view, 8> kOverlapPolicies{"bsd",  "bsd-right", "linux",   "first",
                                                                  "last", "windows",   "solaris", "drop"};

constexpr std::string_view to_string(OverlapPolicy policy) {
  return kOverlapPolicies[static_cast<std::size_t>(policy)];
}
/// Returns the policy of that name, or nothing for any other text.
constexpr std::optional<OverlapPolicy> parse_overlap_policy(std::string_view name) {
  for (std::size_t i = 0; i < kOverlapPolicies.size(); ++i) {
    if (kOverlapPolicies[i] == name) return static_cast<OverlapPolicy>(i);
  }
  return std::nullopt;
}

/// A part of a datagram: bytes `begin` to `end` - 1 of the payload of IP.
struct FragmentRange {
  std::uint32_t begin = 0, end = 0;
  std::uint32_t size() const { return end - begin; }
  bool operator==(const FragmentRange&) const = default;
};

/// Returns true if the new fragment gives the bytes in which it overlaps with a held one. `held` is the range that the
/// held fragment still has after former overlaps; `added` is the new fragment's range as received. The policy must not
/// be `drop`.
constexpr bool new_fragment_wins(OverlapPolicy policy, FragmentRange held, FragmentRange added) {
  switch (policy) {
    case OverlapPolicy::bsd:
      return held.begin > added.begin;
    case OverlapPolicy::bsd_right:
      return held.begin <= added.begin;
    case OverlapPolicy::linux_old:
      return held.begin >= added.begin;
    case OverlapPolicy::last:
      return true;
    case OverlapPolicy::windows:
      return added.begin < held.begin && added.end > held.end;
    case OverlapPolicy::solaris:
      return added.begin < held.begin && added.end >= held.end;
    case OverlapPolicy::first:
    case OverlapPolicy::drop:
      break;
  }
  return false;
}

}  // namespace penumbra
