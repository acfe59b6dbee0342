// SPDX-License-Identifier: Apache-2.0
#include "runtime/port_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penumbra::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

control::RouterConfig config_of(const std::string& ports) {
  return control::parse_config("ports: [" + ports + "]\npipeline: [ipv4]\n", "test", "/");
}

std::vector<PlacedPort> placed(const std::string& ports) {
  std::vector<PlacedPort> all;
  for (const auto& port : config_of(ports).ports) all.push_back({port, false});
  return all;
}

constexpr const char* kA = "{name: a, device: 'net_af_packet0,iface=eth0', addresses: [10.0.0.1/24]}";
constexpr const char* kB = "{name: b, device: none}";

std::string both() {
  return std::string(kA) + ", " + kB;
}

TEST(PortPlan, IsEmptyForTheSamePortsInAnyOrder) {
  EXPECT_TRUE(plan_ports(placed(both()), config_of(both())).is_empty());
  const PortPlan plan = plan_ports(placed(both()), config_of(std::string(kB) + ", " + kA));
  EXPECT_TRUE(plan.is_empty());
  EXPECT_EQ(plan.placed.ports[0].info.name, "a");
  EXPECT_EQ(plan.placed.ports[1].info.name, "b");
  EXPECT_EQ(plan.placed.ports[1].info.mac, control::built_in_mac(1));
}

TEST(PortPlan, ARemovedPortLeavesItsPlaceAndOthersKeepTheirs) {
  const PortPlan plan = plan_ports(placed(both()), config_of(kB));
  EXPECT_THAT(plan.removed, ElementsAre(0));
  EXPECT_THAT(plan.changes, ElementsAre("ports.a: removed"));
  EXPECT_THAT(plan.restarts, IsEmpty());
  ASSERT_EQ(plan.placed.ports.size(), 2U);
  EXPECT_TRUE(plan.placed.ports[0].info.removed);
  EXPECT_EQ(plan.placed.ports[0].info.name, "");
  EXPECT_EQ(plan.placed.ports[1].info.index, 1U);
}

TEST(PortPlan, AnAddedPortGoesBehindTheOthersAndOneThatComesAgainToItsPlace) {
  auto now = placed(both());
  now[0].removed = true;
  const PortPlan plan = plan_ports(now, config_of(both() + ", {name: c, device: none}"));
  EXPECT_THAT(plan.added, ElementsAre(0, 2));
  EXPECT_THAT(plan.changes, ElementsAre("ports.a: added, 'net_af_packet0,iface=eth0'", "ports.c: added, 'none'"));
  EXPECT_EQ(plan.placed.ports[2].info.mac, control::built_in_mac(2));
}

TEST(PortPlan, ARenamedPortKeepsItsPlace) {
  const auto plan_of = [](const std::string& ports) { return plan_ports(placed(both()), config_of(ports)); };
  const PortPlan plan = plan_of(std::string(kB) + ", {name: c, device: 'net_af_packet0,iface=eth0', mtu: 1400}");
  EXPECT_THAT(plan.renamed, ElementsAre(0));
  EXPECT_THAT(plan.reopened, ElementsAre(0));
  EXPECT_THAT(plan.added, IsEmpty());
  EXPECT_THAT(plan.removed, IsEmpty());
  EXPECT_EQ(plan.placed.ports[0].info.name, "c");
  EXPECT_THAT(plan.changes, ElementsAre("ports.c.addresses: not set, was ['10.0.0.1/24']",
                                        "ports.c.mtu: '1400', was not set", "ports.c: renamed, was a"));
  // Another device, and a device that can be open twice, are other ports.
  EXPECT_THAT(plan_of(std::string(kA) + ", {name: c, device: none}").added, ElementsAre(2));
  EXPECT_THAT(plan_of(std::string(kA) + ", {name: c, device: 'net_af_packet1,iface=eth1'}, " + kB).renamed, IsEmpty());
}

/// The device cannot be opened a second time, so that a removed and an added port are no way out.
TEST(PortPlan, ARenamedPortWithAnotherKeyNamesBoth) {
  const auto restarts_of = [](const std::string& port) {
    const PortPlan plan = plan_ports(placed(both() + ", {name: d, device: none, sink: d.pcap}"), config_of(port));
    EXPECT_THAT(plan.renamed, testing::SizeIs(1)) << port;
    EXPECT_THAT(plan.added, IsEmpty()) << port;
    return plan.restarts;
  };
  EXPECT_THAT(restarts_of("{name: c, device: 'net_af_packet0,iface=eth0', queues: 2}"),
              ElementsAre("ports.c.queues (ports.a until now)"));
  for (const char* device : {"net_af_packet0,iface=eth1", "net_af_packet7,iface=eth0", "net_af_xdp0,iface=eth0"}) {
    EXPECT_THAT(restarts_of(fmt::format("{{name: c, device: '{}'}}", device)),
                ElementsAre("ports.c.device (ports.a until now)"))
        << device;
  }
  EXPECT_THAT(restarts_of("{name: e, device: 'synth:rate=1', sink: d.pcap}"),
              ElementsAre("ports.e.device (ports.d until now)"));
}

TEST(PortPlan, ARenamedPortMayTakeTheNameOfARemovedPort) {
  auto now = placed(both());
  now[0].removed = true;
  now.push_back(
      {config_of("{name: c, device: 'net_af_packet0,iface=eth0', addresses: [10.0.0.1/24]}").ports[0], false});
  now[2].config.info.index = 2;
  const PortPlan renamed = plan_ports(now, config_of(both()));
  EXPECT_THAT(renamed.renamed, ElementsAre(2));
  EXPECT_THAT(renamed.changes, ElementsAre("ports.a: renamed, was c"));
  now[2].config = renamed.placed.ports[2];
  EXPECT_TRUE(plan_ports(now, config_of(both())).is_empty());
}

TEST(PortPlan, ATwinWithThePortsNameIsRenamedWithIt) {
  const PortPlan plan = plan_ports(placed("{name: a, device: 'net_af_packet0,iface=eth0', twin: true}"),
                                   config_of("{name: c, device: 'net_af_packet0,iface=eth0', twin: true}"));
  EXPECT_THAT(plan.new_twins, ElementsAre(0));
  EXPECT_THAT(plan.changes, ElementsAre("ports.c: renamed, was a", "ports.c.twin: c, was a"));
}

TEST(PortPlan, NamesPortAndKeyOfWhatCanChangeAndOfWhatTakesARestart) {
  const PortPlan plan =
      plan_ports(placed(both()), config_of("{name: a, device: 'net_af_packet0,iface=eth0', addresses: [10.0.1.1/24], "
                                           "mtu: 1400, queues: 2, twin: true}, {name: b, device: 'synth:rate=100'}"));
  EXPECT_THAT(plan.reopened, ElementsAre(0));
  EXPECT_THAT(plan.new_twins, ElementsAre(0));
  EXPECT_THAT(plan.restarts, ElementsAre("ports.a.queues", "ports.b.device"));
  ASSERT_EQ(plan.changes.size(), 3U);
  EXPECT_TRUE(plan.changes[0].starts_with("ports.a.addresses: ")) << plan.changes[0];
  EXPECT_TRUE(plan.changes[1].starts_with("ports.a.mtu: ")) << plan.changes[1];
  EXPECT_TRUE(plan.changes[2].starts_with("ports.a.twin: ")) << plan.changes[2];
}

TEST(PortPlan, TheMtuOfABuiltInPortChangesWithoutADevice) {
  const PortPlan plan = plan_ports(placed(both()), config_of(std::string(kA) + ", {name: b, device: none, mtu: 9000}"));
  EXPECT_THAT(plan.resized, ElementsAre(1));
  EXPECT_THAT(plan.reopened, IsEmpty());
  EXPECT_THAT(plan.restarts, IsEmpty());
  EXPECT_THAT(plan.changes, ElementsAre("ports.b.mtu: '9000', was not set"));
}

TEST(PortPlan, APciDeviceTakesARestartUnlessThereIsOne) {
  const std::string card = ", {name: c, device: '0000:81:00.0'}";
  EXPECT_THAT(plan_ports(placed(both()), config_of(both() + card)).restarts, ElementsAre("ports.c"));
  const std::string other = ", {name: d, device: '0000:81:00.1'}";
  EXPECT_THAT(plan_ports(placed(both() + card), config_of(both() + card + other)).added, ElementsAre(3));
}

}  // namespace
}  // namespace penumbra::runtime
