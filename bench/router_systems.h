// SPDX-License-Identifier: Apache-2.0
//
// Whole routers to be measured: by function, from sources in memory to counting sinks, and what is right of each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "checking_port.h"

namespace penumbra::bench {

/// What a configuration says of ports and functions.
struct RouterSystem {
  std::string name, input, ports, pipeline;
  MayLeave may_leave;  ///< whether a packet may leave so: by port, and by what an oracle says of its next hop
  unsigned functions = 1;
  bool has_avx512 = false;  ///< its look-up is also written by hand for AVX-512, which `scalar` uses
};

/// Makes them, with their files in a folder, which outlives the makers.
class RouterSystems {
 public:
  RouterSystems(const std::filesystem::path& folder, std::uint64_t seed) : folder_(folder), seed_(seed) {}

  RouterSystem echo() const;
  RouterSystem ipv4() const;
  /// Every packet begins another flow, until the source begins anew.
  RouterSystem flows() const;
  RouterSystem ipv6() const;
  RouterSystem l2() const;
  /// Interests from thousands of stations, all for another one, by the longest of a million prefixes.
  RouterSystem ndn() const;

 private:
  /// Writes a table of IPv4; its truth.
  MayLeave write_ipv4_table() const;

  const std::filesystem::path& folder_;
  const std::uint64_t seed_;
};

}  // namespace penumbra::bench
