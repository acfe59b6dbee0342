// SPDX-License-Identifier: Apache-2.0
//
// Compares with the values of Community ID's own baseline, and with others that its algorithm gives in Python.
#include "functions/ids/detect/community_id.h"

#include <gtest/gtest.h>

#include "penumbra/packet.h"

namespace penumbra::ids {
namespace {

constexpr std::uint64_t ipv4(unsigned a, unsigned b, unsigned c, unsigned d) {
  return std::uint64_t{a} << 24 | b << 16 | c << 8 | d;
}

TEST(CommunityId, IsThatOfItsBaseline) {
  CommunityTuple tcp{.source = {0, ipv4(128, 232, 110, 120)},
                     .destination = {0, ipv4(66, 35, 250, 204)},
                     .protocol = ip_protocol::kTcp,
                     .has_ports = true,
                     .source_port = 34855,
                     .destination_port = 80};
  EXPECT_EQ(community_id(tcp, 0), "1:LQU9qZlK+B5F3KDmev6m5PMibrg=");
  std::swap(tcp.source, tcp.destination);
  std::swap(tcp.source_port, tcp.destination_port);
  EXPECT_EQ(community_id(tcp, 0), "1:LQU9qZlK+B5F3KDmev6m5PMibrg=");
  CommunityTuple icmp{.source = {0, ipv4(192, 168, 0, 89)},
                      .destination = {0, ipv4(192, 168, 0, 1)},
                      .protocol = ip_protocol::kIcmp,
                      .icmp_type = 8};
  EXPECT_EQ(community_id(icmp, 0), "1:X0snYXpgwiv9TZtqg64sgzUn6Dk=");
  EXPECT_EQ(community_id(icmp, 1), "1:03g6IloqVBdcZlPyX8r0hgoE7kA=");
  icmp.icmp_type = 3;
  icmp.icmp_code = 1;
  EXPECT_EQ(community_id(icmp, 0), "1:LXCfhMUFbYXe+CEMrQuZCbiLY3o=");
  const CommunityTuple solicitation{.source = {0xFE80000000000000, 0x020086FFFE0580DA},
                                    .destination = {0xFE80000000000000, 0x026097FFFE0769EA},
                                    .is_ipv6 = true,
                                    .protocol = ip_protocol::kIcmpv6,
                                    .icmp_type = 135};
  EXPECT_EQ(community_id(solicitation, 0), "1:dGHyGvjMfljg6Bppwm3bg0LO8TY=");
  const CommunityTuple esp{
      .source = {0, ipv4(10, 0, 0, 1)}, .destination = {0, ipv4(10, 0, 0, 2)}, .protocol = ip_protocol::kEsp};
  EXPECT_EQ(community_id(esp, 0), "1:dX+1pd7Z9Y9hJE/IuQlfvK7bxuA=");
}

}  // namespace
}  // namespace penumbra::ids
