// SPDX-License-Identifier: Apache-2.0
//
// Parses rtnetlink messages (RFC 3549, rtnetlink(7)) into structs. The parser is a pure function of bytes, from a
// socket or from another transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "penumbra/ip.h"
#include "penumbra/route_feed.h"

namespace penumbra::control::netlink {

/// Represents RTM_NEWLINK and RTM_DELLINK.
struct LinkMessage {
  bool removed = false;
  std::uint32_t index = 0;
  std::string name;
  bool up = false;  ///< IFF_UP: administratively up.
  /// IFF_RUNNING or IFF_LOWER_UP. The kernel removes next-hop objects when the carrier is lost.
  bool carrier = false;
  std::optional<std::uint32_t> vrf_table;  ///< For a VRF interface.
};

/// Represents RTM_NEWADDR and RTM_DELADDR. The address itself is omitted, because routes carry its effect on
/// forwarding.
struct AddressMessage {
  bool removed = false;
};

/// Represents RTM_NEWNEIGH and RTM_DELNEIGH, except for bridges and proxies.
struct NeighbourMessage {
  bool removed = false;
  std::uint32_t interface = 0;
  std::variant<Ipv4Address, Ipv6Address> address;
  std::optional<MacAddress> mac;
  std::uint16_t state = 0;  ///< NUD_REACHABLE, for example.
};

/// Describes a next hop of a route or an object.
struct HopMessage {
  std::uint32_t interface = 0;  ///< 0: unspecified.
  FeedHop::Gateway gateway;
  std::uint32_t weight = 1;
  bool dead = false;          ///< Its interface is down.
  bool encapsulated = false;  ///< The hop encapsulates packets (MPLS, SRv6 and so on).
};

/// Represents RTM_NEWROUTE and RTM_DELROUTE of IPv4 and IPv6.
struct RouteMessage {
  bool removed = false;
  std::variant<Ipv4Prefix, Ipv6Prefix> prefix;
  std::uint32_t table = 0;
  std::uint8_t type = 0;      ///< RTN_UNICAST, for example.
  std::uint8_t protocol = 0;  ///< RTPROT_KERNEL, for example.
  std::uint8_t tos = 0;
  bool cloned = false;  ///< A cache entry.
  std::uint32_t metric = 0;
  std::optional<std::uint32_t> object;  ///< Id of the route's next-hop object.
  std::vector<HopMessage> hops;
};

/// Represents RTM_NEWNEXTHOP and RTM_DELNEXTHOP.
struct ObjectMessage {
  struct Member {
    std::uint32_t id = 0;
    std::uint32_t weight = 1;
  };
  bool removed = false;
  std::uint32_t id = 0;
  bool blackhole = false;
  std::optional<HopMessage> hop;
  std::vector<Member> group;
};

/// Represents NLMSG_DONE, and NLMSG_ERROR with an errno, 0 for an acknowledgement.
struct EndMessage {
  int error = 0;
};

/// Represents an invalid route or next-hop object: truncated, or without a mandatory part.
struct MalformedMessage {};

using Content = std::variant<std::monostate,  // A message of another type.
                             LinkMessage, AddressMessage, NeighbourMessage, RouteMessage, ObjectMessage, EndMessage,
                             MalformedMessage>;

struct Message {
  std::uint16_t flags = 0;  ///< NLM_F_REPLACE, for example.
  std::uint32_t sequence = 0;
  Content content;
};

/// Reads messages from a buffer that is aligned to 4 bytes.
class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  /// Returns the next message, or nothing at the end or at invalid bytes.
  std::optional<Message> next();
  /// Returns true if the buffer was valid up to its end.
  bool whole() const { return rest_.empty() && !malformed_; }

 private:
  std::span<const std::byte> rest_;
  bool malformed_ = false;
};

}  // namespace penumbra::control::netlink
