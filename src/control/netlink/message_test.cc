// SPDX-License-Identifier: Apache-2.0
//
// The messages in message_corpus were recorded from Linux 6.18, in a namespace in which `ip` ran the commands of each
// test.
#include "control/netlink/message.h"

#include <gtest/gtest.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/shared_data.h"

namespace penumbra::control::netlink {
namespace {

std::vector<std::byte> recorded(const std::string& name) {
  const auto file = source_folder() / "src/control/netlink/message_corpus" / name;
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_FALSE(text.empty()) << file;
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string to_text(const FeedHop::Gateway& gateway) {
  if (const auto* const four = std::get_if<Ipv4Address>(&gateway)) return to_string(*four);
  if (const auto* const six = std::get_if<Ipv6Address>(&gateway)) return to_string(*six);
  return "link";
}

/// Prints a message in a short form of `ip monitor`'s words. Interfaces are numbers.
struct ToText {
  std::string operator()(std::monostate /*other*/) const { return "other"; }
  std::string operator()(MalformedMessage /*malformed*/) const { return "malformed"; }
  std::string operator()(const LinkMessage& link) const {
    return (link.removed ? "-link " : "+link ") + link.name + (link.up ? " up" : " down");
  }
  std::string operator()(const AddressMessage& address) const { return address.removed ? "-address" : "+address"; }
  std::string operator()(const NeighbourMessage& neighbour) const {
    return (neighbour.removed ? "-neigh " : "+neigh ") +
           std::visit([](auto address) { return to_string(address); }, neighbour.address) + " " +
           (neighbour.mac ? to_string(*neighbour.mac) : "-") + " " + std::to_string(neighbour.state);
  }
  std::string operator()(const RouteMessage& route) const {
    std::string text = (route.removed ? "-route " : "+route ") + std::to_string(route.type) + " " +
                       std::visit([](auto prefix) { return to_string(prefix); }, route.prefix) + " table " +
                       std::to_string(route.table) + " metric " + std::to_string(route.metric);
    if (route.object) text += " nhid " + std::to_string(*route.object);
    for (const auto& hop : route.hops) text += " " + (*this)(hop);
    return text;
  }
  std::string operator()(const HopMessage& hop) const {
    return to_text(hop.gateway) + "," + std::to_string(hop.weight) + (hop.interface == 0 ? ",nowhere" : "") +
           (hop.dead ? ",dead" : "") + (hop.encapsulated ? ",encap" : "");
  }
  std::string operator()(const ObjectMessage& object) const {
    std::string text = (object.removed ? "-nexthop " : "+nexthop ") + std::to_string(object.id);
    if (object.blackhole) text += " blackhole";
    if (object.hop) text += " " + (*this)(*object.hop);
    for (const auto& [id, weight] : object.group) text += " " + std::to_string(id) + "," + std::to_string(weight);
    return text;
  }
  std::string operator()(const EndMessage& end) const { return "end " + std::to_string(end.error); }
};

std::vector<std::string> texts(const std::string& name) {
  const auto bytes = recorded(name);
  MessageReader reader(bytes);
  std::vector<std::string> found;
  while (const auto message = reader.next()) found.push_back(std::visit(ToText{}, message->content));
  EXPECT_TRUE(reader.whole());
  return found;
}

using Lines = std::vector<std::string>;

TEST(NetlinkMessage, RoutesAsTheyChange) {
  EXPECT_EQ(texts("routes_ipv4"), (Lines{"+route 1 198.51.100.0/24 table 254 metric 20 192.0.2.9,1",
                                         "+route 1 198.51.100.0/24 table 254 metric 20 link,1",
                                         "+route 1 198.51.100.0/24 table 254 metric 20 192.0.2.10,1",
                                         "+route 6 10.0.0.0/8 table 1000 metric 0",
                                         "-route 1 198.51.100.0/24 table 254 metric 20 192.0.2.10,1"}));
  const auto bytes = recorded("routes_ipv4");
  MessageReader reader(bytes);
  EXPECT_EQ(reader.next().value().flags & (NLM_F_APPEND | NLM_F_REPLACE), 0U);
  EXPECT_EQ(reader.next().value().flags & (NLM_F_APPEND | NLM_F_REPLACE), NLM_F_APPEND);
  EXPECT_EQ(reader.next().value().flags & (NLM_F_APPEND | NLM_F_REPLACE), NLM_F_REPLACE);
}

TEST(NetlinkMessage, RoutesWithSeveralNextHopsAndAcrossFamilies) {
  EXPECT_EQ(texts("multipath"), (Lines{"+route 1 9.0.0.0/8 table 254 metric 0 192.0.2.9,3 192.0.2.8,1",
                                       "+route 1 9.1.0.0/16 table 254 metric 0 fe80::7,1",
                                       "+route 1 2001:db8:1::/48 table 254 metric 1024 fe80::1,1 fe80::2,1",
                                       "-route 1 2001:db8:1::/48 table 254 metric 1024 fe80::1,1"}));
}

TEST(NetlinkMessage, NextHopObjectsAndTheirRoutes) {
  EXPECT_EQ(texts("nexthops"),
            (Lines{"+nexthop 1 192.0.2.9,1", "+nexthop 2 blackhole", "+nexthop 3 fe80::7,1", "+nexthop 10 1,4 3,1",
                   "+route 1 11.0.0.0/8 table 254 metric 0 nhid 10 192.0.2.9,4 fe80::7,1", "-nexthop 10 1,4 3,1"}));
}

TEST(NetlinkMessage, Neighbours) {
  EXPECT_EQ(texts("neighbours"), (Lines{"+neigh 192.0.2.9 02:00:00:00:00:09 " + std::to_string(NUD_PERMANENT),
                                        "+neigh 192.0.2.8 02:00:00:00:00:08 " + std::to_string(NUD_STALE),
                                        "+neigh fe80::7 02:00:00:00:00:07 " + std::to_string(NUD_PERMANENT),
                                        "+neigh 192.0.2.9 - " + std::to_string(NUD_FAILED),
                                        "-neigh 192.0.2.9 - " + std::to_string(NUD_FAILED)}));
}

TEST(NetlinkMessage, InterfacesGoDownGetAnotherNameAndGo) {
  const Lines found = texts("links");
  const auto contains = [&](const char* line) { return std::count(found.begin(), found.end(), line) > 0; };
  EXPECT_TRUE(contains("+link wan0 down"));
  EXPECT_TRUE(contains("+link red0 down"));
  EXPECT_TRUE(contains("+link blue0 down"));
  EXPECT_TRUE(contains("-link blue0 down"));
  EXPECT_TRUE(contains("-address"));
}

TEST(NetlinkMessage, WholeTables) {
  EXPECT_EQ(texts("dump_nexthops"), (Lines{"+nexthop 2 blackhole", "end 0"}));
  const Lines links = texts("dump_links");
  EXPECT_EQ(links.front(), "+link lo up");
  EXPECT_EQ(links.back(), "end 0");
  const Lines routes = texts("dump_routes");
  EXPECT_EQ(routes.back(), "end 0");
  EXPECT_EQ(std::count(routes.begin(), routes.end(), "+route 2 192.0.2.1/32 table 255 metric 0 link,1"), 1);
  EXPECT_EQ(std::count(routes.begin(), routes.end(), "+route 7 12.0.0.0/8 table 254 metric 0"), 1);
  EXPECT_GT(texts("dump_routes_ipv6").size(), 3U);
}

/// For truncated or altered messages, the reader reads no byte beyond the buffer (checked by a sanitizer). Prefixes
/// have valid lengths and no bits set past them.
TEST(NetlinkMessage, DamageIsSurvived) {
  for (const char* name : {"routes_ipv4", "multipath", "nexthops", "neighbours", "dump_routes_ipv6"}) {
    const auto whole = recorded(name);
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
      const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
      MessageReader reader(cut);
      while (reader.next()) continue;
      auto altered = whole;
      altered[bytes] ^= std::byte{0xFF};
      MessageReader other(altered);
      while (const auto message = other.next()) {
        const auto* const route = std::get_if<RouteMessage>(&message->content);
        if (route == nullptr) continue;
        if (const auto* const four = std::get_if<Ipv4Prefix>(&route->prefix)) {
          EXPECT_EQ(parse_ipv4_prefix(to_string(*four)), *four);
        } else {
          const auto six = std::get<Ipv6Prefix>(route->prefix);
          EXPECT_EQ(parse_ipv6_prefix(to_string(six)), six);
        }
      }
    }
  }
  for (const std::byte length : {std::byte{0xFF}, std::byte{0}}) {
    auto odd = recorded("routes_ipv4");
    std::fill_n(odd.begin(), 4, length);
    MessageReader reader(odd);
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.whole());
  }
  const std::vector<std::byte> short_one(3);
  MessageReader reader(short_one);
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.whole());
}

}  // namespace
}  // namespace penumbra::control::netlink
