// SPDX-License-Identifier: Apache-2.0
#include "functions/gswitch/compiled_actions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "testing/message_of.h"

namespace penumbra::gswitch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CompiledActions compiled(const std::string& actions) {
  const std::string file = "test";
  return compile_actions(control::rules::parse_flow_actions(control::Line(&file, 1, actions), actions), 4);
}

TEST(GSwitchActions, OutputsWithTheSameHeaderAreOneVariant) {
  const CompiledActions two = compiled("output:2,output:4,mod_vlan_vid:5,output:1,strip_vlan");
  EXPECT_EQ(two.kind, CompiledActions::Kind::output);
  EXPECT_THAT(two.variants[0].ports, ElementsAre(1, 3));
  EXPECT_THAT(two.variants[0].sets, IsEmpty());
  EXPECT_THAT(two.variants[1].ports, ElementsAre(0));
  EXPECT_EQ(two.variants[1].sets.size(), 1U) << "what is set after the last output is nobody's";
  EXPECT_THAT(compiled("all").variants[0].ports, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(compiled("flood").variants[0].ports, ElementsAre(0, 1, 2, 3));
}

TEST(GSwitchActions, WithoutAnOutputThePacketIsDropped) {
  EXPECT_EQ(compiled("drop").kind, CompiledActions::Kind::drop);
  EXPECT_EQ(compiled("strip_vlan").kind, CompiledActions::Kind::drop);
}

TEST(GSwitchActions, SomeOutputsStandAlone) {
  EXPECT_EQ(compiled("mod_vlan_vid:5,in_port").kind, CompiledActions::Kind::in_port);
  EXPECT_EQ(compiled("mod_vlan_vid:5,in_port").variants[0].sets.size(), 1U);
  EXPECT_EQ(compiled("controller:64").kind, CompiledActions::Kind::to_controller);
  EXPECT_EQ(compiled("local").kind, CompiledActions::Kind::to_local);
}

TEST(GSwitchActions, WhatCannotBeDoneIsRefused) {
  const auto expect_refusal = [](const char* actions, const char* why) {
    EXPECT_THAT(message_of<std::invalid_argument>([&] { compiled(actions); }), HasSubstr(why)) << actions;
  };
  expect_refusal("normal", "'normal' cannot be done");
  expect_refusal("enqueue:1:0", "'enqueue' cannot be done");
  expect_refusal("output:5", "there is no port 5: the router's are 1 to 4");
  expect_refusal("output:0", "there is no port 0");
  expect_refusal("output:1,output:1", "port 1 twice");
  expect_refusal("flood,mod_vlan_vid:5,output:2", "port 2 twice");
  expect_refusal("output:1,controller", "'controller' cannot be combined with another output");
  expect_refusal("output:1,in_port", "'in_port' cannot be combined with another output");
  expect_refusal("local,output:1", "'local' cannot be combined with another output");
  expect_refusal("output:1,mod_vlan_vid:5,output:2,mod_vlan_vid:6,output:3", "more than 2 different headers");
}

TEST(GSwitchActions, SaysWhichPortsTakeAPacket) {
  std::vector<PortInfo> ports(4);
  ports[0].mtu = 1000;
  ports[2].mtu = 1200;
  CompiledActions all = compiled("all");
  all.sort(ports);
  EXPECT_THAT(all.variants[0].ports, ElementsAre(1, 3, 2, 0));
  const CompiledActions::OutputPorts output_ports = all.output_ports(0, 1100, 3, ports);
  EXPECT_THAT(output_ports.ports, ElementsAre(1, 3, 2));
  EXPECT_EQ(output_ports.count, 2);
  EXPECT_EQ(output_ports.too_short, 1);
  EXPECT_EQ(all.output_ports(0, 1100, 0, ports).too_short, 0);
  EXPECT_EQ(all.output_ports(0, 1500, 0, ports).count, 2);
  EXPECT_EQ(all.output_ports(1, 1500, 0, ports).count, 0);
}

}  // namespace
}  // namespace penumbra::gswitch
