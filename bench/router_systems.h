// SPDX-License-Identifier: Apache-2.0
//
// Whole routers to measure, one per function, with sources in memory and counting sinks, and the criterion for their
// right output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "checking_port.h"

namespace penumbra::bench {

/// Ports and functions of a configuration.
struct RouterSystem {
  std::string name, input, ports, pipeline;
  MayLeave may_leave;  ///< Returns if a packet may leave: checks its port, and its next hop by an oracle.
  unsigned functions = 1;
  bool has_avx512 = false;  ///< True if its look-up has an AVX-512 form, which `scalar` uses.
};

/// Makes router systems, with their files in `folder`, which must outlive this object.
class RouterSystems {
 public:
  RouterSystems(const std::filesystem::path& folder, std::uint64_t seed) : folder_(folder), seed_(seed) {}

  RouterSystem echo() const;
  RouterSystem ipv4() const;
  /// Every packet starts another flow, until the source repeats.
  RouterSystem flows() const;
  RouterSystem ipv6() const;
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
