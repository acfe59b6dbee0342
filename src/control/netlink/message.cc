// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/message.h"

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <string_view>

#include "penumbra/bytes.h"

namespace penumbra::control::netlink {
namespace {

/// Records errors while a message is parsed. A route with an invalid part must not become another route.
class Sense {
 public:
  void require(bool holds) { made_ = made_ && holds; }
  bool made() const { return made_; }

 private:
  bool made_ = true;
};

/// Holds the attributes of a message or nest, by type. Of duplicates the last one counts; unknown types are skipped. An
/// attribute longer than its message is invalid, and so is a number with too few bytes.
template <std::size_t kTypes>
class Attributes {
 public:
  Attributes(std::span<const std::uint8_t> payload, Sense& sense) : sense_(sense) {
    const std::uint8_t* const end = payload.data() + payload.size();
    const auto* attribute = reinterpret_cast<const nlattr*>(payload.data());
    const auto left = [&] { return static_cast<int>(end - reinterpret_cast<const std::uint8_t*>(attribute)); };
    for (; mnl_attr_ok(attribute, left()); attribute = mnl_attr_next(attribute)) {
      const std::uint16_t type = mnl_attr_get_type(attribute);
      if (type < kTypes) by_type_[type] = attribute;
    }
    sense.require(left() < MNL_ALIGNTO);  // Padding.
  }

  /// Returns the attribute's bytes; empty if there is none.
  std::span<const std::uint8_t> bytes(std::uint16_t type) const {
    const nlattr* const attribute = by_type_[type];
    if (attribute == nullptr) return {};
    return {static_cast<const std::uint8_t*>(mnl_attr_get_payload(attribute)), mnl_attr_get_payload_len(attribute)};
  }
  bool contains(std::uint16_t type) const { return by_type_[type] != nullptr; }
  Sense& sense() const { return sense_; }
  std::optional<std::uint32_t> u32(std::uint16_t type) const {
    const auto found = bytes(type);
    sense_.require(!contains(type) || found.size() >= 4);
    return found.size() < 4 ? std::nullopt : std::optional(load<std::uint32_t>(found.data()));
  }
  std::string text(std::uint16_t type) const {
    const auto found = bytes(type);
    const std::string_view text(reinterpret_cast<const char*>(found.data()), found.size());
    return std::string(text.substr(0, text.find('\0')));
  }

 private:
  const nlattr* by_type_[kTypes] = {};
  Sense& sense_;
};

/// Returns a message's fixed part, or null if it is truncated.
template <class Fixed>
const Fixed* fixed_part(const nlmsghdr* header) {
  if (mnl_nlmsg_get_payload_len(header) < sizeof(Fixed)) return nullptr;
  return static_cast<const Fixed*>(mnl_nlmsg_get_payload(header));
}

/// Returns the bytes after the fixed part, to the message's end. Padding is excluded, because the buffer may not
/// contain it.
template <class Fixed>
std::span<const std::uint8_t> behind(const Fixed* fixed, const nlmsghdr* header) {
  static_assert(sizeof(Fixed) % MNL_ALIGNTO == 0);
  return {reinterpret_cast<const std::uint8_t*>(fixed + 1), mnl_nlmsg_get_payload_len(header) - sizeof(Fixed)};
}

std::optional<std::variant<Ipv4Address, Ipv6Address>> to_address(unsigned family, std::span<const std::uint8_t> bytes) {
  if (family == AF_INET && bytes.size() == 4) return Ipv4Address{load_be32(bytes.data())};
  if (family == AF_INET6 && bytes.size() == 16) return Ipv6Address{load_be64(bytes.data()), load_be64(&bytes[8])};
  return std::nullopt;
}

FeedHop::Gateway to_gateway(unsigned family, std::span<const std::uint8_t> bytes, Sense& sense) {
  const auto address = to_address(family, bytes);
  sense.require(address || bytes.empty());
  if (!address) return std::monostate{};
  return std::visit([](auto known) -> FeedHop::Gateway { return known; }, *address);
}

/// Parses the attributes that both a route and a hop of a multipath route may have.
HopMessage to_hop(const Attributes<RTA_MAX + 1>& attributes, unsigned family, std::uint32_t interface, unsigned flags) {
  HopMessage hop;
  hop.interface = interface;
  hop.dead = (flags & RTNH_F_DEAD) != 0;
  hop.encapsulated = attributes.contains(RTA_ENCAP) || attributes.contains(RTA_NEWDST);
  hop.gateway = to_gateway(family, attributes.bytes(RTA_GATEWAY), attributes.sense());
  if (const auto via = attributes.bytes(RTA_VIA); via.size() > sizeof(rtvia)) {
    hop.gateway = to_gateway(load<std::uint16_t>(via.data()), via.subspan(sizeof(rtvia)), attributes.sense());
  } else {
    attributes.sense().require(!attributes.contains(RTA_VIA));
  }
  return hop;
}

std::vector<HopMessage> to_hops(std::span<const std::uint8_t> bytes, unsigned family, Sense& sense) {
  std::vector<HopMessage> hops;
  while (bytes.size() >= sizeof(rtnexthop)) {
    rtnexthop head;
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.rtnh_len < sizeof head || head.rtnh_len > bytes.size()) break;
    const Attributes<RTA_MAX + 1> attributes(bytes.subspan(sizeof head, head.rtnh_len - sizeof head), sense);
    hops.push_back(to_hop(attributes, family, static_cast<std::uint32_t>(head.rtnh_ifindex), head.rtnh_flags));
    hops.back().weight = head.rtnh_hops + 1U;
    bytes = bytes.subspan(std::min<std::size_t>(RTNH_ALIGN(head.rtnh_len), bytes.size()));
  }
  sense.require(bytes.empty());
  return hops;
}

// IFF_LOWER_UP of <linux/if.h>. <net/if.h> does not define it and conflicts with that header.
constexpr unsigned kLowerUp = 1U << 16;

Content read_link(const nlmsghdr* header) {
  const auto* const fixed = fixed_part<ifinfomsg>(header);
  // Bridges report their ports with another family.
  if (fixed == nullptr || fixed->ifi_family != AF_UNSPEC) return {};
  Sense sense;  // The result is ignored: the few attributes that are read are either valid or absent.
  const Attributes<IFLA_MAX + 1> attributes(behind(fixed, header), sense);
  LinkMessage link;
  link.removed = header->nlmsg_type == RTM_DELLINK;
  link.index = static_cast<std::uint32_t>(fixed->ifi_index);
  link.name = attributes.text(IFLA_IFNAME);
  link.up = (fixed->ifi_flags & IFF_UP) != 0;
  link.carrier = (fixed->ifi_flags & (IFF_RUNNING | kLowerUp)) != 0;
  const Attributes<IFLA_INFO_MAX + 1> info(attributes.bytes(IFLA_LINKINFO), sense);
  if (info.text(IFLA_INFO_KIND) == "vrf") {
    link.vrf_table = Attributes<IFLA_VRF_MAX + 1>(info.bytes(IFLA_INFO_DATA), sense).u32(IFLA_VRF_TABLE);
  }
  return link;
}

Content read_neighbour(const nlmsghdr* header) {
  const auto* const fixed = fixed_part<ndmsg>(header);
  if (fixed == nullptr || (fixed->ndm_flags & NTF_PROXY) != 0) return {};
  Sense sense;
  const Attributes<NDA_MAX + 1> attributes(behind(fixed, header), sense);
  if (!sense.made()) return {};
  const auto address = to_address(fixed->ndm_family, attributes.bytes(NDA_DST));
  if (!address) return {};
  NeighbourMessage neighbour;
  neighbour.removed = header->nlmsg_type == RTM_DELNEIGH;
  neighbour.interface = static_cast<std::uint32_t>(fixed->ndm_ifindex);
  neighbour.address = *address;
  neighbour.state = fixed->ndm_state;
  if (const auto mac = attributes.bytes(NDA_LLADDR); mac.size() == 6) {
    neighbour.mac = MacAddress{std::uint64_t{load_be16(mac.data())} << 32 | load_be32(&mac[2])};
  }
  return neighbour;
}

/// Returns nothing for an invalid prefix.
std::optional<std::variant<Ipv4Prefix, Ipv6Prefix>> to_prefix(unsigned family, unsigned length,
                                                              std::span<const std::uint8_t> bytes) {
  if (length > (family == AF_INET ? 32 : 128)) return std::nullopt;
  if (bytes.empty() && length > 0) return std::nullopt;
  const auto address = bytes.empty() ? std::nullopt : to_address(family, bytes);
  if (!bytes.empty() && !address) return std::nullopt;
  const auto bits = static_cast<std::uint8_t>(length);
  if (family == AF_INET) {
    Ipv4Prefix prefix{address ? std::get<Ipv4Address>(*address) : Ipv4Address{}, bits};
    prefix.address.value &= prefix.mask();
    return prefix;
  }
  Ipv6Prefix prefix{address ? std::get<Ipv6Address>(*address) : Ipv6Address{}, bits};
  prefix.address = {prefix.address.high & prefix.mask().high, prefix.address.low & prefix.mask().low};
  return prefix;
}

Content read_route(const nlmsghdr* header) {
  const auto* const fixed = fixed_part<rtmsg>(header);
  if (fixed == nullptr) return MalformedMessage{};
  if (fixed->rtm_family != AF_INET && fixed->rtm_family != AF_INET6) return {};
  Sense sense;
  const Attributes<RTA_MAX + 1> attributes(behind(fixed, header), sense);
  const auto prefix = to_prefix(fixed->rtm_family, fixed->rtm_dst_len, attributes.bytes(RTA_DST));
  if (!prefix) return MalformedMessage{};
  if (fixed->rtm_src_len != 0) return {};
  RouteMessage route;
  route.removed = header->nlmsg_type == RTM_DELROUTE;
  route.prefix = *prefix;
  route.table = attributes.u32(RTA_TABLE).value_or(fixed->rtm_table);
  route.type = fixed->rtm_type;
  route.protocol = fixed->rtm_protocol;
  route.tos = fixed->rtm_tos;
  route.cloned = (fixed->rtm_flags & RTM_F_CLONED) != 0;
  route.metric = attributes.u32(RTA_PRIORITY).value_or(0);
  route.object = attributes.u32(RTA_NH_ID);
  route.hops = to_hops(attributes.bytes(RTA_MULTIPATH), fixed->rtm_family, sense);
  if (route.hops.empty()) {
    HopMessage hop =
        to_hop(attributes, fixed->rtm_family, attributes.u32(RTA_OIF).value_or(0), fixed->rtm_flags & 0xFFU);
    if (hop.interface != 0 || hop.gateway.index() != 0) route.hops.push_back(hop);
  }
  if (!sense.made()) return MalformedMessage{};
  return route;
}

Content read_object(const nlmsghdr* header) {
  const auto* const fixed = fixed_part<nhmsg>(header);
  if (fixed == nullptr) return MalformedMessage{};
  Sense sense;
  const Attributes<NHA_MAX + 1> attributes(behind(fixed, header), sense);
  const auto id = attributes.u32(NHA_ID);
  if (!id) return MalformedMessage{};
  ObjectMessage object;
  object.removed = header->nlmsg_type == RTM_DELNEXTHOP;
  object.id = *id;
  object.blackhole = attributes.contains(NHA_BLACKHOLE);
  const auto members = attributes.bytes(NHA_GROUP);
  sense.require(members.size() % sizeof(nexthop_grp) == 0);
  for (std::size_t at = 0; at + sizeof(nexthop_grp) <= members.size(); at += sizeof(nexthop_grp)) {
    // Linux 6.12 and later keep the upper byte of the weight in a formerly reserved field.
    const std::uint32_t weight = (members[at + 4] | std::uint32_t{members[at + 5]} << 8) + 1;
    object.group.push_back({.id = load<std::uint32_t>(&members[at]), .weight = weight});
  }
  if (object.group.empty() && !object.blackhole) {
    HopMessage hop;
    hop.interface = attributes.u32(NHA_OIF).value_or(0);
    hop.gateway = to_gateway(fixed->nh_family, attributes.bytes(NHA_GATEWAY), sense);
    hop.dead = (fixed->nh_flags & RTNH_F_DEAD) != 0;
    hop.encapsulated = attributes.contains(NHA_ENCAP);
    object.hop = hop;
  }
  if (!sense.made()) return MalformedMessage{};
  return object;
}

Content read_end(const nlmsghdr* header) {
  const auto* const payload = static_cast<const std::uint8_t*>(mnl_nlmsg_get_payload(header));
  if (mnl_nlmsg_get_payload_len(header) < sizeof(int)) return EndMessage{};
  // Unsigned arithmetic: the error may be any number.
  return EndMessage{static_cast<int>(0U - load<std::uint32_t>(payload))};
}

Content read(const nlmsghdr* header) {
  switch (header->nlmsg_type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
      return read_link(header);
    case RTM_NEWADDR:
    case RTM_DELADDR:
      return AddressMessage{header->nlmsg_type == RTM_DELADDR};
    case RTM_NEWNEIGH:
    case RTM_DELNEIGH:
      return read_neighbour(header);
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
      return read_route(header);
    case RTM_NEWNEXTHOP:
    case RTM_DELNEXTHOP:
      return read_object(header);
    case NLMSG_DONE:
    case NLMSG_ERROR:
      return read_end(header);
    default:
      return {};
  }
}

}  // namespace

std::optional<Message> MessageReader::next() {
  const auto* const header = reinterpret_cast<const nlmsghdr*>(rest_.data());
  if (rest_.empty()) return std::nullopt;
  // mnl_nlmsg_ok() would take a length of 4 GiB as negative.
  if (rest_.size() < sizeof *header || header->nlmsg_len < sizeof *header || header->nlmsg_len > rest_.size()) {
    malformed_ = true;
    return std::nullopt;
  }
  rest_ = rest_.subspan(std::min<std::size_t>(MNL_ALIGN(header->nlmsg_len), rest_.size()));
  return Message{.flags = header->nlmsg_flags, .sequence = header->nlmsg_seq, .content = read(header)};
}

}  // namespace penumbra::control::netlink
