// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <linux/neighbour.h>

#include <map>
#include <utility>

#include "control/netlink/neighbours.h"
#include "control/netlink/testing.h"

namespace penumbra::control::netlink {
namespace {

/// What can be sent to.
class Adjacent final : public SilentListener {
 public:
  void set_neighbour(std::uint16_t port, Ipv4Address address, MacAddress mac) override { macs[{port, address}] = mac; }
  void remove_neighbour(std::uint16_t port, Ipv4Address address) override { macs.erase({port, address}); }

  std::map<std::pair<std::uint16_t, Ipv4Address>, MacAddress> macs;
};

TEST(KernelNeighbours, OneOnAnInterfaceThatWasMadeAnewStays) {
  Adjacent adjacent;
  const auto tell = [&](const auto& word) { word(adjacent); };
  constexpr Ipv4Address kAddress{0x0A010002};
  for (const auto& [old_index, new_index] : {std::pair{7U, 8U}, {8U, 7U}}) {
    adjacent.macs.clear();
    KernelNeighbours neighbours;
    Links links({"twin"});
    const auto told = [&](std::uint32_t index, MacAddress mac) {
      links.update({.removed = false, .index = index, .name = "twin", .up = true, .vrf_table = {}});
      neighbours.apply({.interface = index, .address = kAddress, .mac = mac, .state = NUD_REACHABLE}, links, tell);
    };
    told(old_index, {0xA});
    links.begin_sync();  // nobody has said that it is gone
    neighbours.begin_sync();
    told(new_index, {0xB});
    links.end_sync(true);
    neighbours.end_sync(true, tell);
    ASSERT_EQ(adjacent.macs.size(), 1U);
    EXPECT_EQ((adjacent.macs.at({0, kAddress})), MacAddress{0xB});
    EXPECT_EQ(neighbours.list().size(), 1U);
    neighbours.begin_sync();
    neighbours.end_sync(true, tell);
    EXPECT_TRUE(adjacent.macs.empty());
  }
}

}  // namespace
}  // namespace penumbra::control::netlink
