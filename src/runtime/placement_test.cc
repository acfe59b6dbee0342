// SPDX-License-Identifier: Apache-2.0
//
// Tests the placement of queues and memory on machines that are made up.
#include "runtime/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/numa.h"
#include "base/scratch_folder.h"
#include "io/packet_pool.h"

namespace penumbra::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Returns the workers of queues whose cards are on these nodes.
std::vector<std::uint16_t> places(const std::vector<int>& worker_nodes, const std::vector<int>& queue_nodes) {
  QueuePlacement placement(worker_nodes, queue_nodes.size());
  std::vector<std::uint16_t> workers;
  workers.reserve(queue_nodes.size());
  for (const int node : queue_nodes) workers.push_back(placement.place(node));
  return workers;
}

TEST(QueuePlacement, GoesInTurnWithoutNodes) {
  EXPECT_THAT(places({-1, -1, -1}, {-1, -1, -1, -1}), ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(places({0, 0}, {-1, 0, 0, -1}), ElementsAre(0, 1, 0, 1));
}

TEST(QueuePlacement, KeepsEachCardOnItsNode) {
  EXPECT_THAT(places({0, 1, 0, 1}, {1, 1, 1, 1, 0, 0, 0, 0}), ElementsAre(1, 3, 1, 3, 0, 2, 0, 2));
}

TEST(QueuePlacement, UsesWorkersOfOtherNodesRatherThanLeaveThemIdle) {
  EXPECT_THAT(places({0, 1, 0, 1}, {1, 1, 1, 1}), ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(places({0, 0}, {1, 1}), ElementsAre(0, 1));
}

TEST(QueuePlacement, CountsQueuesThatAWorkerHas) {
  QueuePlacement placement({1, 1, 0}, 5);
  placement.has(0, 2);
  EXPECT_EQ(placement.place(1), 1);
  EXPECT_EQ(placement.place(1), 1);
  EXPECT_EQ(placement.place(1), 2);
}

/// A machine with two nodes: cores 0 and 1 on node 0, cores 2 and 3 on node 1.
class TwoNodes : public testing::Test {
 protected:
  TwoNodes() {
    for (const auto& [core, node] : {std::pair{0, 0}, {1, 0}, {2, 1}, {3, 1}}) {
      std::filesystem::create_directories(
          sys_ / ("devices/system/cpu/cpu" + std::to_string(core) + "/node" + std::to_string(node)));
    }
    write("bus/pci/devices/0000:3b:00.0/numa_node", 1);
    write("class/net/near/device/numa_node", 0);
    write("class/net/far/device/numa_node", 1);
    setenv("PENUMBRA_SYSFS", sys_.path().c_str(), 1);
  }
  ~TwoNodes() override { unsetenv("PENUMBRA_SYSFS"); }

  void write(const std::string& file, int node) const {
    std::filesystem::create_directories((sys_ / file).parent_path());
    std::ofstream(sys_ / file) << node << '\n';
  }
  static control::PortConfig port(const std::string& name, control::Device device) {
    control::PortConfig config;
    config.info.name = name;
    config.device = std::move(device);
    return config;
  }
  static control::PortConfig interface(const std::string& name) {
    return port(name, control::Ethdev{.devargs = "net_af_packet0,iface=" + name});
  }
  static control::PortConfig card() {
    return port("card", control::Ethdev{.devargs = "0000:3b:00.0,max_rx=1", .is_pci = true});
  }

  const ScratchFolder sys_;
};

TEST_F(TwoNodes, AreReadFromSys) {
  const std::vector<unsigned> cores{3, 0, 9};
  EXPECT_THAT(nodes_of(cores), ElementsAre(1, 0, -1));
  EXPECT_EQ(io::node_of(card()), 1);
  EXPECT_EQ(io::node_of(interface("near")), 0);
  EXPECT_EQ(io::node_of(interface("veth")), -1);
  EXPECT_EQ(io::node_of(port("null", control::Ethdev{.devargs = "net_null0"})), -1);
}

TEST_F(TwoNodes, HaveAPoolEach) {
  const std::vector<control::PortConfig> all{interface("veth"), interface("far"), interface("near"), card()};
  const auto groups = io::by_node(all);
  ASSERT_EQ(groups.size(), 2U);
  const auto names = [](const io::NodePorts& group) {
    std::vector<std::string> list;
    list.reserve(group.ports.size());
    for (const auto& each : group.ports) list.push_back(each.info.name);
    return list;
  };
  EXPECT_EQ(groups[0].node, 1);
  EXPECT_THAT(names(groups[0]), ElementsAre("far", "card", "veth"));
  EXPECT_EQ(groups[1].node, 0);
  EXPECT_THAT(names(groups[1]), ElementsAre("near"));
  EXPECT_EQ(io::by_node({}).size(), 1U);
}

TEST_F(TwoNodes, WarnOfACardWithoutAWorkerNearby) {
  const std::vector<control::PortConfig> all{interface("near"), card(), interface("veth")};
  const std::vector<unsigned> near{0, 1}, both{0, 2}, unknown{0, 9};
  EXPECT_THAT(placement_warnings(all, near),
              ElementsAre(HasSubstr("port 'card': its card is on NUMA node 1, and no worker is")));
  EXPECT_THAT(placement_warnings(all, both), IsEmpty());
  EXPECT_THAT(placement_warnings(all, unknown), IsEmpty());
}

TEST(TakeMemoryOf, KeepsThePolicyWithoutANode) {
  const std::vector<int> unknown{-1, -1};
  EXPECT_TRUE(take_memory_of(unknown));
  const std::vector<int> absent{63};
  EXPECT_FALSE(take_memory_of(absent)) << "the kernel knows no such node";
  take_local_memory();
}

}  // namespace
}  // namespace penumbra::runtime
