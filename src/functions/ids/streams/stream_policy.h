// SPDX-License-Identifier: Apache-2.0
//
// Decides which of two overlapping TCP segments gives the bytes of a stream. Hosts differ, so an observer must decide
// as the receiver does. The names are those of Snort and Suricata. The source is J. Novak, S. Sturges: "Target-Based
// TCP Stream Reassembly", 2007.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace penumbra::ids {

enum class StreamPolicy : std::uint8_t {
  first,      ///< a held segment wins
  last,       ///< the new segment wins
  bsd,        ///< a held segment wins, unless the new one begins before it
  linux_2_4,  ///< as bsd; the new one also wins if it begins with the held one and ends after it
  linux_old,  ///< as bsd; the new one also wins if it begins with the held one and does not end before it
  windows,    ///< as bsd: Windows 2000 and XP
  solaris,    ///< the new one wins if it ends after the held one, or ends with it and does not begin after it
};

/// The names of the policies, in the order of StreamPolicy.
inline constexpr std::array<std::string_view, 7> kStreamPolicies{"first",     "last",    "bsd",    "linux",
                                                                 "old-linux", "windows", "solaris"};

constexpr std::string_view to_string(StreamPolicy policy) {
  return kStreamPolicies[static_cast<std::size_t>(policy)];
}
/// Returns the policy of that name, or nothing for any other text.
constexpr std::optional<StreamPolicy> parse_stream_policy(std::string_view name) {
  for (std::size_t i = 0; i < kStreamPolicies.size(); ++i) {
    if (kStreamPolicies[i] == name) return static_cast<StreamPolicy>(i);
  }
  return std::nullopt;
}

/// A part of a stream: the bytes `begin` to `end` - 1, counted from the first byte after SYN.
struct StreamRange {
  std::uint64_t begin = 0, end = 0;
  bool operator==(const StreamRange&) const = default;
};

/// Returns true if the new segment gives the bytes in which it overlaps with a held one. `held` is the range that the
/// held segment still has after former overlaps; `added` is the range of the new segment as received.
constexpr bool new_segment_wins(StreamPolicy policy, StreamRange held, StreamRange added) {
  switch (policy) {
    case StreamPolicy::first:
      return false;
    case StreamPolicy::last:
      return true;
    case StreamPolicy::bsd:
    case StreamPolicy::windows:
      return added.begin < held.begin;
    case StreamPolicy::linux_2_4:
      return added.begin < held.begin || (added.begin == held.begin && added.end > held.end);
    case StreamPolicy::linux_old:
      return added.begin < held.begin || (added.begin == held.begin && added.end >= held.end);
    case StreamPolicy::solaris:
      return added.end > held.end || (added.end == held.end && added.begin <= held.begin);
  }
  return false;
}

}  // namespace penumbra::ids
