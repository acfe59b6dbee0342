// SPDX-License-Identifier: Apache-2.0
#include "functions/reassembly/settings.h"

#include <gtest/gtest.h>

#include "testing/message_of.h"

namespace penumbra::reassembly {
namespace {

Settings read(const std::string& text, std::uint16_t workers = 1) {
  return read_settings(ConfigNode::parse(text, "test.yaml", "."), workers);
}
OverlapPolicy policy_of(const Settings& settings, const char* destination) {
  return settings.policies.of(parse_ipv4_address(destination).value());
}

TEST(ReassemblySettings, HaveDefaults) {
  const Settings settings = read("{}", 3);
  EXPECT_EQ(settings.memory, std::size_t{24} << 20);
  EXPECT_EQ(settings.limits.memory, std::size_t{8} << 20);
  EXPECT_EQ(settings.limits.timeout, 30'000'000'000U);
  EXPECT_EQ(policy_of(settings, "10.0.0.1"), OverlapPolicy::drop);
}

TEST(ReassemblySettings, AreRead) {
  const Settings settings =
      read("{memory: 10, datagrams: 20, fragments: 30, least_payload: 40, timeout: 50ms, policy: bsd-right}", 2);
  const ReassemblyLimits wanted{
      .memory = std::size_t{5} << 20, .datagrams = 20, .fragments = 30, .least_payload = 40, .timeout = 50'000'000};
  EXPECT_EQ(settings.limits, wanted);
  EXPECT_EQ(settings.policies.text(), "bsd-right");
}

TEST(ReassemblySettings, TakeThePolicyOfTheLongestPrefix) {
  const Settings settings = read(
      "{policy: last, hosts: [{prefix: 10.0.0.0/8, policy: bsd}, {prefix: 10.1.0.0/16, policy: windows},"
      " {prefix: 10.1.0.1/32, policy: linux}]}");
  EXPECT_EQ(policy_of(settings, "11.0.0.1"), OverlapPolicy::last);
  EXPECT_EQ(policy_of(settings, "10.2.0.1"), OverlapPolicy::bsd);
  EXPECT_EQ(policy_of(settings, "10.1.0.2"), OverlapPolicy::windows);
  EXPECT_EQ(policy_of(settings, "10.1.0.1"), OverlapPolicy::linux_old);
  EXPECT_EQ(settings.policies.text(), "last, 10.1.0.1/32 linux, 10.1.0.0/16 windows, 10.0.0.0/8 bsd");
  EXPECT_EQ(settings.policies, read("{policy: last, hosts: [{prefix: 10.1.0.1/32, policy: linux},"
                                    " {prefix: 10.1.0.0/16, policy: windows}, {prefix: 10.0.0.0/8, policy: bsd}]}")
                                   .policies);
}

TEST(ReassemblySettings, ChooseDestinations) {
  const Destinations to = read("{to: [192.0.2.0/24, '2001:db8::/32']}").to;
  EXPECT_FALSE(to.is_all());
  EXPECT_TRUE(to.contains(parse_ipv4_address("192.0.2.9").value()));
  EXPECT_FALSE(to.contains(parse_ipv4_address("192.0.3.9").value()));
  EXPECT_TRUE(to.contains(parse_ipv6_address("2001:db8::9").value()));
  EXPECT_FALSE(to.contains(parse_ipv6_address("2001:db9::9").value()));
  EXPECT_TRUE(read("{}").to.is_all());
  EXPECT_NE(message_of([] { read("{to: [192.0.2]}"); }).find("test.yaml:1:7: expected a prefix"), std::string::npos);
  EXPECT_NE(message_of([] { read("{to: []}"); }).find("at least one prefix"), std::string::npos);
}

TEST(ReassemblySettings, RefuseLimitsThatTakeMoreThanTheMemory) {
  EXPECT_NE(message_of([] { read("{memory: 4, datagrams: 100000}"); }).find("test.yaml:1:10: "), std::string::npos);
  EXPECT_NE(message_of([] { read("{memory: 1}", 16); }).find("for each of 16 workers"), std::string::npos);
}

}  // namespace
}  // namespace penumbra::reassembly
