// SPDX-License-Identifier: Apache-2.0
//
// Provides a ledger between two ports for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/verify/ledger.h"
#include "cli/verify/test_frames.h"

namespace penumbra::cli::verify {

constexpr MacAddress kPortMac[] = {{0x020000000001}, {0x020000000002}};
constexpr MacAddress kNextHop{0x02AA00000001}, kOtherHop{0x02AA00000002};

/// `Packet` is a packet of test_frames.h.
template <class Packet>
class LedgerFixture : public testing::Test {
 protected:
  explicit LedgerFixture(Oracle oracle) : oracle_(std::move(oracle)) {}

  void receive(const Packet& packet, std::uint16_t port = 0) {
    ledger_.received(port, ++received_, make_frame(packet));
  }
  void send(const Packet& packet, MacAddress to = kNextHop, std::uint16_t port = 1) {
    send_bytes(make_routed(packet, to, kPortMac[port]), port);
  }
  void send_bytes(const Bytes& frame, std::uint16_t port = 1) { ledger_.sent(port, ++sent_, frame); }

  /// Expects `times` differences of this kind and no others.
  void expect_only(Difference difference, std::uint64_t times = 1) {
    const Findings findings = ledger_.close();
    EXPECT_EQ(findings.counts[static_cast<std::size_t>(difference)], times) << to_string(difference);
    EXPECT_EQ(findings.differences(), times) << testing::PrintToString(findings.examples);
  }
  /// Expects that none of the packets is sent, each for its reason.
  void expect_unsent(const std::vector<std::pair<Packet, std::string>>& packets) {
    for (const auto& [packet, reason] : packets) {
      Ledger ledger(oracle_);
      ledger.received(0, 1, make_frame(packet));
      const Findings findings = ledger.close();
      EXPECT_THAT(findings.unsent, testing::ElementsAre(testing::Pair(reason, 1)));
      EXPECT_EQ(findings.differences(), 0U) << reason;
    }
  }

  Oracle oracle_;
  Ledger ledger_{oracle_};
  std::uint32_t received_ = 0, sent_ = 0;
};

inline constexpr std::uint32_t kOne = 0x0A000001;     // route by kNextHop and port 1
inline constexpr std::uint32_t kShared = 0x0B000001;  // route by kNextHop or kOtherHop and port 1
inline constexpr std::uint32_t kHalf = 0x0C000001;    // route by kNextHop, or by a next hop with an unknown MAC address
inline constexpr std::uint32_t kNarrow = 0x0D000001;  // route by port 1, or by port 0 with an MTU of 500

inline std::vector<PortInfo> ipv4_ports() {
  return {{.name = "port0",
           .index = 0,
           .mac = kPortMac[0],
           .mtu = 500,
           .addresses = {{{0xC0A80001}, {{0xC0A80000}, 24}}},
           .ipv6_addresses = {}},
          {.name = "port1", .index = 1, .mac = kPortMac[1], .addresses = {}, .ipv6_addresses = {}}};
}

class LedgerTest : public LedgerFixture<TestPacket> {
 protected:
  static constexpr TestPacket kToShared{.destination = kShared}, kToHalf{.destination = kHalf};
  static constexpr TestPacket kToNarrow{.destination = kNarrow};
  static constexpr std::uint16_t kTooLong = 600;  ///< bytes after the headers; exceeds port 0
  static constexpr std::size_t kLeastMtu = 500;   ///< MTU of port 0

  LedgerTest()
      : LedgerFixture(
            {ipv4_ports(),
             std::make_unique<RouteOracle<Ipv4Rules>>(
                 ipv4_ports(),
                 control::parse_routes("10.0.0.0/8 via 192.0.2.1 dev port1\n"
                                       "10.1.0.0/16 via 192.0.2.9 dev port1 metric 20\n"
                                       "10.1.0.0/16 via 192.0.2.1 dev port1 metric 10\n"
                                       "11.0.0.0/8 nexthop via 192.0.2.1 dev port1 nexthop via 192.0.2.2 dev port1\n"
                                       "12.0.0.0/8 nexthop via 192.0.2.1 dev port1 nexthop via 192.0.2.9 dev port1\n"
                                       "13.0.0.0/8 nexthop via 192.0.2.1 dev port1 nexthop via 192.0.2.3 dev port0\n"
                                       "blackhole 14.0.0.0/8\nunreachable 15.0.0.0/8\n",
                                       "routes", {}),
                 control::parse_neighbours("192.0.2.1 dev port1 lladdr 02:aa:00:00:00:01\n"
                                           "192.0.2.2 dev port1 lladdr 02:aa:00:00:00:02\n"
                                           "192.0.2.3 dev port0 lladdr 02:aa:00:00:00:03\n"
                                           "192.168.0.7 dev port0 lladdr 02:aa:00:00:00:07\n",
                                           "neighbours", {})),
             nullptr}) {}
};

/// Returns the address 2001:db8:GROUP::LOW.
constexpr Ipv6Address in_site(std::uint64_t group, std::uint64_t low = 1) {
  return {0x20010DB8'0000'0000 | group << 16, low};
}
inline constexpr Ipv6Address kSharedSite = in_site(0x11), kHalfSite = in_site(0x12), kNarrowSite = in_site(0x13);

inline std::vector<PortInfo> ipv6_ports() {
  return {{.name = "port0",
           .index = 0,
           .mac = kPortMac[0],
           .mtu = 1280,
           .addresses = {},
           .ipv6_addresses = {{in_site(1), {in_site(1, 0), 64}}, {in_site(2, 1), {in_site(2, 0), 127}}}},
          {.name = "port1", .index = 1, .mac = kPortMac[1], .addresses = {}, .ipv6_addresses = {}}};
}

inline std::unique_ptr<RouteOracle<Ipv6Rules>> ipv6_routes() {
  return std::make_unique<RouteOracle<Ipv6Rules>>(
      ipv6_ports(),
      control::parse_routes<Ipv6>("2001:db8:10::/48 via fe80::1 dev port1\n"
                                  "2001:db8:10:8000::/49 via fe80::9 dev port1 metric 20\n"
                                  "2001:db8:10:8000::/49 via fe80::2 dev port1 metric 10\n"
                                  "2001:db8:10:8000::80/121 via fe80::1 dev port1\n"
                                  "2001:db8:11::/48 nexthop via fe80::1 dev port1 nexthop via fe80::2 dev port1\n"
                                  "2001:db8:12::/48 nexthop via fe80::1 dev port1 nexthop via fe80::9 dev port1\n"
                                  "2001:db8:13::/48 nexthop via fe80::1 dev port1 nexthop via fe80::1 dev port0\n"
                                  "blackhole 2001:db8:14::/48\nunreachable 2001:db8:15::/48\n",
                                  "routes", {}),
      control::parse_neighbours<Ipv6>("fe80::1 dev port1 lladdr 02:aa:00:00:00:01\n"
                                      "fe80::2 dev port1 lladdr 02:aa:00:00:00:02\n"
                                      "fe80::1 dev port0 lladdr 02:aa:00:00:00:03\n"
                                      "2001:db8:1::7 dev port0 lladdr 02:aa:00:00:00:07\n"
                                      "2001:db8:2:: dev port0 lladdr 02:aa:00:00:00:08\n",
                                      "neighbours", {}));
}

class Ipv6LedgerTest : public LedgerFixture<TestIpv6Packet> {
 protected:
  static constexpr TestIpv6Packet kToShared{.destination = kSharedSite}, kToHalf{.destination = kHalfSite};
  static constexpr TestIpv6Packet kToNarrow{.destination = kNarrowSite};
  static constexpr std::uint16_t kTooLong = 1233;
  static constexpr std::size_t kLeastMtu = 1280;

  Ipv6LedgerTest() : LedgerFixture({ipv6_ports(), nullptr, ipv6_routes()}) {}
};

}  // namespace penumbra::cli::verify
