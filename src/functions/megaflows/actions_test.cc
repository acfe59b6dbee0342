// SPDX-License-Identifier: Apache-2.0
#include "functions/megaflows/actions.h"

#include <gtest/gtest.h>

#include <vector>

#include "functions/megaflows/testing.h"
#include "testing/message_of.h"

namespace penumbra::megaflows {
namespace {

TEST(MegaflowActions, AreReadAsTheyAreWritten) {
  Random random(3);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<Action> actions(random.below(5));
    for (Action& action : actions) {
      action = testing_support::random_action(random);
      if (random.below(8) == 0) action = {.kind = Action::Kind::meter, .meter = 65'536U + random.below(9)};
      if (random.below(3) == 0) action = {.kind = Action::Kind::output, .port = static_cast<std::uint16_t>(round)};
    }
    ASSERT_EQ(parse_actions(actions_text(actions)), actions) << actions_text(actions);
  }
}

TEST(MegaflowActions, ThatAreWrongAreNamed) {
  const auto error = [](const char* text) {
    return message_of<std::invalid_argument>([text] { parse_actions(text); });
  };
  EXPECT_EQ(error("output:x"), "expected a number up to 65535 in the action 'output:x'");
  EXPECT_EQ(error("output:1,"),
            "unknown action ''; there are: drop, output:PORT, set:FIELD=VALUE, push_vlan:TPID:TCI, pop_vlan, "
            "meter:NUMBER");
  EXPECT_EQ(error("meter:-1"), "expected a number up to 4294967295 in the action 'meter:-1'");
  EXPECT_EQ(error("set:in_port=1"), "no field of this name can be set, in the action 'set:in_port=1'");
  EXPECT_EQ(error("set:nw_ttl=256"), "the field cannot have this value, in the action 'set:nw_ttl=256'");
  EXPECT_EQ(error("push_vlan:0x0800:1"),
            "the ethertype of a tag is 0x8100 or 0x88a8, in the action 'push_vlan:0x0800:1'");
}

TEST(MegaflowActions, ThatCannotBeCarriedOutAreRefused) {
  std::vector<PortInfo> ports(4);
  ports[3].removed = true;
  const auto error = [&ports](const char* text, std::uint16_t in_port) {
    return message_of<std::invalid_argument>([&] { compile_actions(parse_actions(text), in_port, ports); });
  };
  EXPECT_EQ(error("output:1", 1), "no error");
  EXPECT_EQ(error("output:2,pop_vlan,output:3,set:nw_ttl=1", 1), "no error");
  EXPECT_EQ(error("output:2,output:3", 2), "an output to the receive port together with others");
  EXPECT_EQ(error("output:2,output:3", 0), "several outputs without a match of in_port");
  EXPECT_EQ(error("output:2,output:2", 1), "two outputs to port 2");
  EXPECT_EQ(error("output:2,meter:1", 1), "a meter after an output");
  EXPECT_EQ(error("output:5", 1), "there is no port 5: the router's are 1 to 4");
  EXPECT_EQ(error("output:4", 1), "there is no port 4: the router's are 1 to 4");
  std::vector<PortInfo> more(5);
  EXPECT_EQ(message_of<std::invalid_argument>(
                [&] { compile_actions(parse_actions("output:2,pop_vlan,output:3,pop_vlan,output:4"), 1, more); }),
            "more than two different headers");
}

}  // namespace
}  // namespace penumbra::megaflows
