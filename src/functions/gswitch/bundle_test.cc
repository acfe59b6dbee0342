// SPDX-License-Identifier: Apache-2.0
#include "functions/gswitch/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "functions/gswitch/commands.h"
#include "penumbra/errors.h"
#include "testing/message_of.h"

namespace penumbra::gswitch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kPorts = 4;

const std::vector<FlowEntry>& table() {
  static const std::vector<FlowEntry> kTable = parse_entries(
      "priority=9,udp,tp_dst=53 actions=output:1\n"
      "priority=8,udp actions=output:1\n"
      "priority=8,tcp,tp_dst=80 actions=output:2\n"
      "priority=7,arp actions=output:3\n",
      "table", kPorts, Fields::all);
  return kTable;
}

rule_list::Edited<FlowEntry> edited(const std::string& lines) {
  return edit(table(), "bundle", {.text = lines, .name = "bundle"}, kPorts, Fields::all);
}

std::vector<std::string> texts(const std::string& lines) {
  std::vector<std::string> texts;
  for (const FlowEntry& flow : edited(lines).entries) texts.push_back(text_of(flow));
  return texts;
}

std::tuple<std::size_t, std::size_t, std::size_t> counts(const std::string& lines) {
  const auto counts = edited(lines).counts;
  return {counts.added, counts.removed, counts.changed};
}

TEST(GSwitchBundle, LinesTakeEffectInTheirOrder) {
  const std::string lines =
      "# a comment\n"
      "delete udp\n"
      "  add priority=9,udp,tp_dst=53 actions=output:4\n"
      "priority=6,icmp actions=drop\n"
      "modify tcp actions=output:4\n";
  EXPECT_THAT(texts(lines),
              ElementsAre("priority=9,udp,tp_dst=53 actions=output:4", "priority=8,tcp,tp_dst=80 actions=output:4",
                          "priority=7,arp actions=output:3", "priority=6,icmp actions=drop"));
  EXPECT_EQ(counts(lines), std::tuple(1, 1, 2));
  EXPECT_EQ(counts("add icmp actions=drop\ndelete icmp\n"), std::tuple(0, 0, 0));
  EXPECT_EQ(counts("delete icmp\nadd icmp actions=drop\n"), std::tuple(1, 0, 0));
}

TEST(GSwitchBundle, StrictLinesNameOneFlow) {
  EXPECT_THAT(texts("delete_strict priority=8,udp\n"),
              ElementsAre("priority=9,udp,tp_dst=53 actions=output:1", "priority=8,tcp,tp_dst=80 actions=output:2",
                          "priority=7,arp actions=output:3"));
  EXPECT_EQ(counts("delete_strict udp\n"), std::tuple(0, 0, 0)) << "has another priority";
  EXPECT_EQ(counts("modify_strict priority=8,udp actions=drop\n"), std::tuple(0, 0, 1));
  EXPECT_EQ(counts("modify_strict priority=3,udp actions=drop\n"), std::tuple(0, 0, 0)) << "adds nothing";
  EXPECT_EQ(counts("add priority=8,udp actions=drop\n"), std::tuple(0, 0, 1)) << "takes the place of the known flow";
}

TEST(GSwitchBundle, OtherLinesConcernFlowsOfAtLeastTheirMatch) {
  EXPECT_EQ(counts("delete udp\n"), std::tuple(0, 2, 0));
  EXPECT_EQ(counts("delete udp,tp_dst=53\n"), std::tuple(0, 1, 0));
  EXPECT_EQ(counts("delete ip\n"), std::tuple(0, 3, 0));
  EXPECT_EQ(counts("delete in_port=1\n"), std::tuple(0, 0, 0));
  EXPECT_EQ(counts("modify udp,tp_dst=53 actions=output:2\n"), std::tuple(0, 0, 1));
  EXPECT_EQ(counts("modify icmp actions=output:2\n"), std::tuple(0, 0, 0)) << "adds nothing";
  EXPECT_EQ(counts("delete\n"), std::tuple(0, 4, 0));
}

/// Flows that are the same before and after the bundle keep their counters.
TEST(GSwitchBundle, MayReplaceTheTable) {
  const std::string lines = "delete\npriority=7,arp actions=output:3\npriority=5 actions=drop\n";
  EXPECT_THAT(texts(lines), ElementsAre("priority=7,arp actions=output:3", "priority=5 actions=drop"));
  EXPECT_EQ(counts(lines), std::tuple(1, 3, 0));
  EXPECT_EQ(edited(lines).entries[0].line, table()[3].line);
}

TEST(GSwitchBundle, AWrongLineIsNamedWithItsPlace) {
  const auto error = [](const std::string& lines) { return message_of<InputError>([&] { edited(lines); }); };
  EXPECT_THAT(error("delete udp\nmodify udp\n"), HasSubstr("bundle:2"));
  EXPECT_THAT(error("delete udp\nmodify upd actions=drop\n"), HasSubstr("bundle:2:8: "));
  EXPECT_THAT(error("remove udp actions=drop\n"), HasSubstr("bundle:1:1: "));
  EXPECT_THAT(error("add udp actions=output:5\n"), HasSubstr("there is no port 5"));
}

}  // namespace
}  // namespace penumbra::gswitch
