// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/spd.h"

#include <gtest/gtest.h>
#include <linux/xfrm.h>
#include <sys/socket.h>

#include <cerrno>

#include "control/xfrm/refused.h"

namespace penumbra::control::xfrm {
namespace {

Policy policy_to(const char* destination, Direction direction, std::uint32_t priority = 0) {
  Policy policy;
  policy.selector.destination = parse_address(destination, AF_INET).value();
  policy.selector.destination_prefix = 32;
  policy.selector.family = AF_INET;
  policy.direction = direction;
  policy.priority = priority;
  return policy;
}

TEST(Spd, ReplacesByUpdateOnly) {
  Spd spd;
  const std::uint32_t index = spd.insert(policy_to("10.0.0.1", Direction::out, 5), false).index;
  EXPECT_EQ(index % 8, 1U);
  try {
    spd.insert(policy_to("10.0.0.1", Direction::out, 6), false);
    FAIL() << "it was added twice";
  } catch (const Refused& refused) {
    EXPECT_EQ(refused.error(), EEXIST);
  }
  const Policy& now = spd.insert(policy_to("10.0.0.1", Direction::out, 6), true);
  EXPECT_EQ(now.index, index);
  EXPECT_EQ(now.priority, 6U);
  EXPECT_EQ(spd.all().size(), 1U);
}

TEST(Spd, TellsPoliciesApartByDirectionMarkAndInterface) {
  Spd spd;
  spd.insert(policy_to("10.0.0.1", Direction::in), false);
  spd.insert(policy_to("10.0.0.1", Direction::forward), false);
  Policy marked = policy_to("10.0.0.1", Direction::in);
  marked.mark = {.value = 1, .mask = 1};
  marked.action = Action::block;
  spd.insert(marked, false);
  Policy tunnel = policy_to("10.0.0.1", Direction::in);
  tunnel.interface_id = 4;
  spd.insert(tunnel, false);
  EXPECT_EQ(spd.count(Direction::in), 3U);
  EXPECT_EQ(spd.find(key_of(tunnel))->interface_id, 4U);
  EXPECT_EQ(spd.find(spd.find(key_of(marked))->index, key_of(marked))->mark.value, 1U);
  EXPECT_EQ(spd.find(spd.find(key_of(tunnel))->index, key_of(marked)), nullptr);
}

TEST(Spd, RefusesABypassOnAConditionThatPacketsDoNotHave) {
  Policy marked = policy_to("10.0.0.1", Direction::out), of_interface = marked, of_user = marked, sub = marked;
  marked.mark = {.value = 1, .mask = 1};
  of_interface.selector.interface = 2;
  of_user.selector.user = 1000;
  sub.type = XFRM_POLICY_TYPE_SUB;
  for (Policy policy : {marked, of_interface, of_user, sub}) {
    Spd spd;
    EXPECT_THROW(spd.insert(policy, false), Refused);
    EXPECT_TRUE(spd.all().empty());
    policy.templates.emplace_back();
    spd.insert(policy, false);
    EXPECT_EQ(spd.all().size(), 1U);
  }
}

TEST(Spd, OrdersByPriorityThenAge) {
  Spd spd;
  spd.insert(policy_to("10.0.0.1", Direction::out, 20), false);
  spd.insert(policy_to("10.0.0.2", Direction::out, 10), false);
  spd.insert(policy_to("10.0.0.3", Direction::out, 10), false);
  spd.insert(policy_to("10.0.0.4", Direction::in, 1), false);
  spd.insert(policy_to("10.0.0.2", Direction::out, 10), true);
  std::string order;
  for (const Policy* const policy : spd.in_order(Direction::out)) {
    order += to_string(policy->selector.destination, AF_INET) + " ";
  }
  EXPECT_EQ(order, "10.0.0.3 10.0.0.2 10.0.0.1 ");
}

TEST(Spd, ForgetsWhatItRemoves) {
  Spd spd;
  const Policy& policy = spd.insert(policy_to("10.0.0.1", Direction::out), false);
  const std::uint32_t index = policy.index;
  const PolicyKey key = key_of(spd.remove(policy));
  EXPECT_EQ(spd.find(key), nullptr);
  EXPECT_EQ(spd.find(index, key), nullptr);
  spd.insert(policy_to("10.0.0.1", Direction::out), false);
  EXPECT_EQ(spd.flush(1), 0U);
  EXPECT_EQ(spd.flush(0), 1U);
  EXPECT_TRUE(spd.all().empty());
}

TEST(Spd, KnowsWhichSasItsOutboundPoliciesWaitFor) {
  SaSettings sa;
  sa.id.family = AF_INET;
  sa.id.destination = parse_address("192.0.2.2", AF_INET).value();
  sa.mode = Mode::tunnel;
  sa.request = 7;
  Policy policy = policy_to("10.0.0.1", Direction::out);
  Template wanted;
  wanted.id.destination = sa.id.destination;
  wanted.request = 7;
  wanted.mode = Mode::tunnel;
  policy.templates.push_back(wanted);
  Spd spd;
  EXPECT_FALSE(spd.wants(sa));
  const PolicyKey key = key_of(spd.insert(policy, false));
  EXPECT_TRUE(spd.wants(sa));
  sa.request = 8;
  EXPECT_FALSE(spd.wants(sa));
  policy.templates.front().request = 8;
  spd.insert(policy, true);
  EXPECT_TRUE(spd.wants(sa));
  policy.templates.front().id.spi = 0x100;
  sa.id.spi = 0x101;
  spd.insert(policy, true);
  EXPECT_TRUE(spd.wants(sa)) << "the policy names the SPI of the SA before";
  spd.remove(*spd.find(key));
  EXPECT_FALSE(spd.wants(sa));
  policy.direction = Direction::in;
  spd.insert(policy, false);
  EXPECT_FALSE(spd.wants(sa));
  policy.direction = Direction::out;
  policy.templates.front().request = 0;
  spd.insert(policy, false);
  EXPECT_TRUE(spd.wants(sa)) << "reqid 0 takes any";
}

TEST(Address, ComparesPrefixesBitByBit) {
  const Address prefix = parse_address("10.128.0.0", AF_INET).value();
  EXPECT_TRUE(has_prefix(parse_address("10.255.1.1", AF_INET).value(), prefix, 9));
  EXPECT_FALSE(has_prefix(parse_address("10.127.1.1", AF_INET).value(), prefix, 9));
  EXPECT_FALSE(has_prefix(parse_address("11.128.0.0", AF_INET).value(), prefix, 8));
  EXPECT_TRUE(
      has_prefix(parse_address("2001:db8::1", AF_INET6).value(), parse_address("2001:db8::1", AF_INET6).value(), 128));
  EXPECT_TRUE(has_prefix(prefix, Address{}, 0));
}

}  // namespace
}  // namespace penumbra::control::xfrm
