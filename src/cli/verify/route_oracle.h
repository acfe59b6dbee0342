// SPDX-License-Identifier: Apache-2.0
//
// Where a packet must go, by the plainest longest-prefix match there is: a dictionary for each prefix length, asked
// from the longest to the shortest.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/verify/header_oracle.h"
#include "control/routes.h"

namespace penumbra::cli::verify {

/// One way out that a packet may take.
struct Way {
  std::uint16_t port = 0;
  std::uint64_t mac = 0;  ///< of the next hop; 0: not known, a packet that takes this way is punted
  unsigned mtu = 0;       ///< of the port, bytes; a longer packet that takes this way is punted

  auto operator<=>(const Way&) const = default;
  /// Whether an IP packet of so many bytes gets out this way.
  bool carries(unsigned ip_bytes) const { return mac != 0 && ip_bytes <= mtu; }
};

/// What must become of a frame: not sent for a reason, or sent by one of the ways (sorted, all different), the same one
/// for all packets of a flow.
struct Expectation {
  std::string reason;
  std::vector<Way> ways;
};

class Oracle {
 public:
  Oracle(std::vector<PortInfo> ports, const control::RouteList& routes,
         const std::vector<control::Neighbour>& neighbours);

  const std::vector<PortInfo>& ports() const { return ports_; }
  /// For a frame that arrives at port number `port`.
  Expectation judge(std::uint16_t port, Frame frame) const;

 private:
  struct Entry {
    std::uint32_t metric = 0;
    std::uint32_t target = 0;
  };
  const control::RouteTarget* find(std::uint32_t address) const;
  void add(Ipv4Prefix prefix, Entry entry);
  Expectation ways(const control::RouteTarget& target, std::uint32_t destination, unsigned ip_bytes) const;

  std::vector<PortInfo> ports_;
  std::map<std::string, std::uint16_t> port_by_name_;
  std::vector<control::RouteTarget> targets_;
  std::array<std::unordered_map<std::uint32_t, Entry>, 33> by_length_;
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::uint64_t> neighbours_;
  std::set<std::uint32_t> own_addresses_, directed_broadcasts_;
};

}  // namespace penumbra::cli::verify
