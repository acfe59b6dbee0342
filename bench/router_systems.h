// SPDX-License-Identifier: Apache-2.0
//
// Whole routers to measure, one per function, with sources in memory and counting sinks, and the criterion for their
// right output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checking_port.h"

namespace penumbra::bench {

/// Ports and functions of a configuration.
struct RouterSystem {
  std::string name, input, ports, pipeline;
  MayLeave may_leave;  ///< Returns if a packet may leave: checks its port, and its next hop by an oracle.
  unsigned functions = 1;
  // NOLINTNEXTLINE(readability-redundant-member-init): initializers may omit the member
  std::vector<std::string> engines = {};  ///< Engines that run it; empty: all.
  bool has_avx512 = false;                ///< True if its look-up has an AVX-512 form, which `scalar` uses.
};

/// Makes router systems, with their files in `folder`, which must outlive this object.
class RouterSystems {
 public:
  RouterSystems(const std::filesystem::path& folder, std::uint64_t seed) : folder_(folder), seed_(seed) {}

  RouterSystem echo() const;
  /// `frame_bytes` is without the FCS, here and below.
  RouterSystem ipv4(std::uint16_t frame_bytes = 60) const;
  /// Every packet starts another flow, until the source repeats.
  RouterSystem flows() const;
  /// At least 62 bytes.
  RouterSystem ipv6(std::uint16_t frame_bytes = 62) const;
  /// Seals every packet for one tunnel. `suite` is "AES-128-GCM", "AES-128-CTR and HMAC-SHA1" or "AES-128-CBC and
  /// HMAC-SHA1".
  RouterSystem ipsec(std::uint16_t frame_bytes, const std::string& suite) const;
  /// Searches random data, in which no pattern is expected, for the patterns of 2,000 generated rules.
  RouterSystem ids(std::uint16_t frame_bytes, const std::string& matcher) const;
  /// Half of the frames match a flow with all fields, the other half one of the flows with an address prefix.
  RouterSystem openflow(std::uint32_t exact, std::uint32_t wildcards) const;
  RouterSystem l2() const;
  /// Interests from thousands of stations, all to one station, by the longest prefix of a million.
  RouterSystem ndn() const;

 private:
  /// Writes an IPv4 table and returns the criterion for its packets.
  MayLeave write_ipv4_table() const;

  const std::filesystem::path& folder_;
  const std::uint64_t seed_;
};

}  // namespace penumbra::bench
