// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <linux/neighbour.h>

#include <map>
#include <utility>

#include "control/netlink/neighbours.h"
#include "control/netlink/testing.h"

namespace penumbra::control::netlink {
namespace {

/// Keeps the neighbours that the listener reports as reachable.
class Adjacent final : public SilentListener {
 public:
  using Address = KernelNeighbours::Address;
  void set_neighbour(std::uint16_t port, Ipv4Address address, MacAddress mac) override { macs[{port, address}] = mac; }
  void set_neighbour(std::uint16_t port, Ipv6Address address, MacAddress mac) override { macs[{port, address}] = mac; }
  void remove_neighbour(std::uint16_t port, Ipv4Address address) override { macs.erase({port, address}); }
  void remove_neighbour(std::uint16_t port, Ipv6Address address) override { macs.erase({port, address}); }

  std::map<std::pair<std::uint16_t, Address>, MacAddress> macs;
};

class KernelNeighboursTest : public testing::TestWithParam<Adjacent::Address> {};

TEST_P(KernelNeighboursTest, OneOnAnInterfaceThatWasMadeAnewStays) {
  Adjacent adjacent;
  const auto notify = [&](const auto& change) { change(adjacent); };
  const Adjacent::Address address = GetParam();
  for (const auto& [old_index, new_index] : {std::pair{7U, 8U}, {8U, 7U}}) {
    adjacent.macs.clear();
    KernelNeighbours neighbours;
    Links links({"twin"});
    const auto report = [&](std::uint32_t index, MacAddress mac) {
      links.update({.removed = false, .index = index, .name = "twin", .up = true, .vrf_table = {}});
      neighbours.apply({.interface = index, .address = address, .mac = mac, .state = NUD_REACHABLE}, links, notify);
    };
    report(old_index, {0xA});
    links.begin_sync();  // No message reports that the old interface is gone.
    neighbours.begin_sync();
    report(new_index, {0xB});
    links.end_sync(true);
    neighbours.end_sync(true, notify);
    ASSERT_EQ(adjacent.macs.size(), 1U);
    EXPECT_EQ((adjacent.macs.at({0, address})), MacAddress{0xB});
    EXPECT_EQ(neighbours.list().size(), 1U);
    neighbours.begin_sync();
    neighbours.end_sync(true, notify);
    EXPECT_TRUE(adjacent.macs.empty());
  }
}

TEST_P(KernelNeighboursTest, OneThatGrowsStaleIsAskedFor) {
  Adjacent adjacent;
  const auto notify = [&](const auto& change) { change(adjacent); };
  KernelNeighbours neighbours;
  Links links({"twin"});
  links.update({.removed = false, .index = 7, .name = "twin", .up = true, .vrf_table = {}});
  const auto report = [&](std::uint16_t state) {
    neighbours.apply({.interface = 7, .address = GetParam(), .mac = MacAddress{0xA}, .state = state}, links, notify);
  };
  report(NUD_REACHABLE);
  EXPECT_FALSE(neighbours.next_to_probe());
  report(NUD_STALE);
  EXPECT_EQ(neighbours.next_to_probe(), std::pair(7U, GetParam()));
  EXPECT_FALSE(neighbours.next_to_probe());
  report(NUD_FAILED);
  EXPECT_TRUE(adjacent.macs.empty());
}

TEST_P(KernelNeighboursTest, OneThatIsLostIsReportedOnce) {
  Adjacent adjacent;
  const auto notify = [&](const auto& change) { change(adjacent); };
  KernelNeighbours neighbours;
  Links links({"twin"});
  links.update({.removed = false, .index = 7, .name = "twin", .up = true, .vrf_table = {}});
  const auto report = [&](std::uint16_t state, bool removed = false) {
    NeighbourMessage message{.interface = 7, .address = GetParam(), .mac = MacAddress{0xA}, .state = state};
    message.removed = removed;
    neighbours.apply(message, links, notify);
  };
  report(NUD_INCOMPLETE);
  report(NUD_FAILED);  // The neighbour was never reachable.
  EXPECT_EQ(neighbours.take_lost().second, 0U);
  report(NUD_REACHABLE);
  report(NUD_FAILED);
  report(NUD_FAILED);
  const auto [silent, count] = neighbours.take_lost();
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(silent[0].address, GetParam());
  EXPECT_TRUE(silent[0].answers_not);
  report(NUD_STALE);
  report(NUD_STALE, true);
  const auto [deleted, second] = neighbours.take_lost();
  ASSERT_EQ(second, 1U);
  EXPECT_FALSE(deleted[0].answers_not);
  for (std::size_t i = 0; i < KernelNeighbours::kMostLost + 3; ++i) {
    report(NUD_REACHABLE);
    report(NUD_NONE);
  }
  const auto [some, many] = neighbours.take_lost();
  EXPECT_EQ(some.size(), KernelNeighbours::kMostLost);
  EXPECT_EQ(many, KernelNeighbours::kMostLost + 3);
  EXPECT_EQ(neighbours.take_lost().second, 0U);
}

INSTANTIATE_TEST_SUITE_P(Families, KernelNeighboursTest,
                         testing::Values(Ipv4Address{0x0A010002}, Ipv6Address{0xFE80000000000000, 2}));

}  // namespace
}  // namespace penumbra::control::netlink
