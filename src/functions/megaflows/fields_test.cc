// SPDX-License-Identifier: Apache-2.0
#include "functions/megaflows/fields.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "functions/megaflows/testing.h"
#include "testing/message_of.h"

namespace penumbra::megaflows {
namespace {

TEST(MegaflowFields, OccupyBitsOfTheirOwn) {
  SparseWords seen{};
  for (std::size_t i = 0; i < kFields; ++i) {
    SparseWords bits{};
    set(bits, static_cast<Field>(i), all_bits(kPlaces[i].bits));
    for (std::size_t word = 0; word < bits.size(); ++word) {
      EXPECT_EQ(bits[word] & seen[word], 0U) << kPlaces[i].name;
      seen[word] |= bits[word];
    }
  }
  EXPECT_EQ(seen, field_bits());
}

TEST(MegaflowFields, AreReadAsTheyAreWritten) {
  Random random(2);
  for (int round = 0; round < 5'000; ++round) {
    const auto field = static_cast<Field>(random.below(kFields));
    const Number all = all_bits(place_of(field).bits);
    Number mask{random.next() & all.high, random.next() & all.low};
    if (random.below(2) == 0) mask = all;
    const Number value{random.next() & mask.high, random.next() & mask.low};
    const std::string text = field_text(field, value, mask);
    const auto read = parse_field(field, text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->value, value) << text;
    EXPECT_EQ(read->mask, mask) << text;
  }
}

TEST(MegaflowFields, HaveTheTextOfOpenVSwitch) {
  const auto text = [](Field field, const char* from) {
    const auto read = parse_field(field, from);
    return read ? field_text(field, read->value, read->mask) : "wrong";
  };
  EXPECT_EQ(text(Field::nw_src, "10.1.2.3/8"), "10.0.0.0/8");
  EXPECT_EQ(text(Field::nw_src, "10.1.2.3/255.0.255.0"), "10.0.2.0/255.0.255.0");
  EXPECT_EQ(text(Field::ipv6_dst, "2001:db8::1/64"), "2001:db8::/64");
  EXPECT_EQ(text(Field::eth_dst, "01:00:00:00:00:00/01:00:00:00:00:00"), "01:00:00:00:00:00/01:00:00:00:00:00");
  EXPECT_EQ(text(Field::nw_proto, "0x11"), "17");
  for (const char* wrong : {"", "256", "-1", "1/", "1/256", "0x", "6x"}) {
    EXPECT_FALSE(parse_field(Field::nw_proto, wrong)) << wrong;
  }
  EXPECT_FALSE(parse_field(Field::nw_src, "10.0.0.0/33"));
  EXPECT_FALSE(parse_field(Field::ipv6_src, "10.0.0.1"));
}

/// A match of some bits matches several ports.
TEST(MegaflowFields, HaveAReceivePortIfAllItsBitsAreMatched) {
  SparseMatch match;
  EXPECT_EQ(in_port_of(match), 0);
  set(match.value, Field::in_port, {0, 5});
  set(match.mask, Field::in_port, {0, 7});
  EXPECT_EQ(in_port_of(match), 0);
  set(match.mask, Field::in_port, {0, 0xFFFF});
  EXPECT_EQ(in_port_of(match), 5);
}

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
