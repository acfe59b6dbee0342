// SPDX-License-Identifier: Apache-2.0
//
// Reads the configuration of `reassembly`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packet/reassembly.h"
#include "penumbra/config_node.h"
#include "penumbra/ip.h"

namespace penumbra::reassembly {

/// Chooses the policy for overlaps of IPv4 by the destination of a fragment.
class Policies {
 public:
  static constexpr std::size_t kMostHosts = 256;

  struct Hosts {
    Ipv4Prefix prefix;
    OverlapPolicy policy = OverlapPolicy::drop;
    bool operator==(const Hosts&) const = default;
  };

  /// Sorts `hosts`, so that the longest prefixes come first.
  Policies(OverlapPolicy otherwise, std::vector<Hosts> hosts);

  OverlapPolicy of(Ipv4Address destination) const;
  bool operator==(const Policies&) const = default;
  /// Returns the policies in the configuration's words: "drop, 192.0.2.0/24 windows".
  std::string text() const;

 private:
  OverlapPolicy otherwise_;
  std::vector<Hosts> hosts_;
};

/// Chooses datagrams by their destination.
struct Destinations {
  static constexpr std::size_t kMost = 256;

  std::vector<Ipv4Prefix> ipv4;
  std::vector<Ipv6Prefix> ipv6;

  /// True without prefixes: all datagrams are chosen.
  bool is_all() const { return ipv4.empty() && ipv6.empty(); }
  bool contains(Ipv4Address destination) const;
  bool contains(Ipv6Address destination) const;
  bool operator==(const Destinations&) const = default;
};

struct Settings {
  std::size_t memory = 0;   ///< Bytes for all workers.
  ReassemblyLimits limits;  ///< Limits of each worker.
  Policies policies{OverlapPolicy::drop, {}};
  Destinations to;  ///< Fragments to other destinations go on unchanged.
};

/// Throws InputError at the place of an error.
Settings read_settings(const ConfigNode& config, std::uint16_t workers);

}  // namespace penumbra::reassembly
