// SPDX-License-Identifier: Apache-2.0
//
// What rtnetlink says (RFC 3549, rtnetlink(7)), as structs: a pure function over bytes, from a socket or from any other
// transport.
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

/// RTM_NEWLINK, RTM_DELLINK.
struct LinkMessage {
  bool removed = false;
  std::uint32_t index = 0;
  std::string name;
  bool up = false;                         ///< IFF_UP: switched on by whoever administers the host
  bool carrier = false;                    ///< IFF_RUNNING or IFF_LOWER_UP: next-hop objects live as long as that
  std::optional<std::uint32_t> vrf_table;  ///< of an interface that stands for a VRF
};

/// RTM_NEWADDR, RTM_DELADDR: only that there was one; what addresses mean for forwarding, routes say.
struct AddressMessage {
  bool removed = false;
};

/// RTM_NEWNEIGH, RTM_DELNEIGH, but for a bridge's and proxies.
struct NeighbourMessage {
  bool removed = false;
  std::uint32_t interface = 0;
  std::variant<Ipv4Address, Ipv6Address> address;
  std::optional<MacAddress> mac;
  std::uint16_t state = 0;  ///< NUD_REACHABLE and the like
};

/// A next hop of a route or an object.
struct HopMessage {
  std::uint32_t interface = 0;  ///< 0: none is named
  FeedHop::Gateway gateway;
  std::uint32_t weight = 1;
  bool dead = false;          ///< its interface is down
  bool encapsulated = false;  ///< MPLS, SRv6 and the like
};

/// RTM_NEWROUTE, RTM_DELROUTE of IPv4 and IPv6.
struct RouteMessage {
  bool removed = false;
  std::variant<Ipv4Prefix, Ipv6Prefix> prefix;
  std::uint32_t table = 0;
  std::uint8_t type = 0;      ///< RTN_UNICAST and the like
  std::uint8_t protocol = 0;  ///< RTPROT_KERNEL and the like
  std::uint8_t tos = 0;
  bool cloned = false;  ///< a cache entry
  std::uint32_t metric = 0;
  std::optional<std::uint32_t> object;  ///< the next-hop object that it goes by
  std::vector<HopMessage> hops;
};

/// RTM_NEWNEXTHOP, RTM_DELNEXTHOP.
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

/// NLMSG_DONE, and NLMSG_ERROR with an errno, 0 for an acknowledgement.
struct EndMessage {
  int error = 0;
};

/// A route or next-hop object that cannot be: cut off, or without what makes it one.
struct MalformedMessage {};

using Content = std::variant<std::monostate,  // a message of another type
                             LinkMessage, AddressMessage, NeighbourMessage, RouteMessage, ObjectMessage, EndMessage,
                             MalformedMessage>;

struct Message {
  std::uint16_t flags = 0;  ///< NLM_F_REPLACE and the like
  std::uint32_t sequence = 0;
  Content content;
};

/// Takes messages off the front of a buffer that is aligned to 4 bytes.
class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  /// The next message; nothing at the end, or where the bytes make no sense any more.
  std::optional<Message> next();
  /// Whether what was read made sense up to the end.
  bool whole() const { return rest_.empty() && !malformed_; }

 private:
  std::span<const std::byte> rest_;
  bool malformed_ = false;
};

}  // namespace penumbra::control::netlink
