// SPDX-License-Identifier: Apache-2.0
//
// Community ID (https://github.com/corelight/community-id-spec, version 1): a hash by which tools name the same flow.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace penumbra::ids {

struct CommunityTuple {
  std::array<std::uint64_t, 2> source{}, destination{};  ///< IPv4 is the low half of the second word.
  bool is_ipv6 = false;
  std::uint8_t protocol = 0;
  bool has_ports = false;
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint8_t icmp_type = 0, icmp_code = 0;
};

/// Returns "1:" and the base64 text of the hash. Both directions of a flow have the same.
std::string community_id(const CommunityTuple& tuple, std::uint16_t seed);

}  // namespace penumbra::ids
