// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/exceptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "penumbra/errors.h"

namespace penumbra::ids {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using enum ExceptionCause;
using Policy = ExceptionPolicy;

struct Read {
  explicit Read(const std::string& text)
      : settings(ExceptionSettings::read(ConfigNode::parse(text, "y", "."), unused)) {}
  ExceptionPolicies apply(bool is_ips, bool midstream = false) const {
    ExceptionPolicies policies = ExceptionPolicies::defaults(is_ips);
    settings.apply(is_ips, midstream, policies);
    return policies;
  }

  std::vector<std::string> unused;
  ExceptionSettings settings;
};

TEST(Exceptions, KeepTheDefaultsWithoutAPolicy) {
  const Read read("flow: {memcap: 1}\napp-layer:\nstream: {midstream: true}\n");
  EXPECT_THAT(read.unused, ElementsAre("flow.memcap"));
  for (const bool is_ips : {false, true}) {
    EXPECT_EQ(read.apply(is_ips), ExceptionPolicies::defaults(is_ips));
    EXPECT_EQ(read.settings.of_fragments(is_ips), Policy::ignore);
  }
  EXPECT_FALSE(read.settings.names_fragments());
}

TEST(Exceptions, HavePoliciesByName) {
  const Read read(
      "flow: {memcap-policy: pass-packet}\napp-layer: {error-policy: reject}\ndefrag: {memcap-policy: bypass}\n"
      "stream: {midstream-policy: pass-flow, memcap-policy: drop-flow}\n");
  EXPECT_THAT(read.unused, IsEmpty());
  const ExceptionPolicies policies = read.apply(true);
  EXPECT_EQ(policies.of(flows), Policy::pass_packet);
  EXPECT_EQ(policies.of(application), Policy::reject);
  EXPECT_EQ(policies.of(midstream), Policy::pass);
  EXPECT_EQ(policies.of(memory), Policy::drop);
  EXPECT_EQ(policies.of(unreadable), Policy::drop) << "a cause that Suricata does not have keeps its policy";
  EXPECT_EQ(read.settings.of_fragments(true), Policy::ignore) << "fragments have no flow that could be bypassed";
  EXPECT_TRUE(read.settings.names_fragments());
}

TEST(Exceptions, DropOnlyInline) {
  const Read read(
      "exception-policy: drop-packet\nstream: {reassembly: {memcap-policy: bypass}, memcap-policy: reject}\n");
  const ExceptionPolicies sensor = read.apply(false), inline_system = read.apply(true);
  EXPECT_EQ(sensor.of(flows), Policy::ignore);
  EXPECT_EQ(inline_system.of(flows), Policy::drop_packet);
  EXPECT_EQ(sensor.of(memory), Policy::bypass) << "the policy of reassembly precedes that of streams";
  EXPECT_EQ(read.settings.of_fragments(false), Policy::ignore);
  EXPECT_EQ(read.settings.of_fragments(true), Policy::drop_packet);
}

TEST(Exceptions, ChooseAutomatically) {
  const Read read("exception-policy: auto\n");
  EXPECT_EQ(read.apply(false), ExceptionPolicies());
  EXPECT_EQ(read.apply(true).of(midstream), Policy::drop);
  EXPECT_EQ(read.apply(true, true).of(midstream), Policy::ignore) << "connections are followed from their middle";
  EXPECT_EQ(read.apply(true).of(application), Policy::drop);
  EXPECT_EQ(read.settings.of_fragments(true), Policy::drop_packet);
}

TEST(Exceptions, ActOnFragmentsByThePacket) {
  const auto of_fragments = [](const std::string& word, bool is_ips) {
    return Read("exception-policy: " + word + "\n").settings.of_fragments(is_ips);
  };
  EXPECT_EQ(of_fragments("pass-flow", false), Policy::pass_packet);
  EXPECT_EQ(of_fragments("drop-flow", true), Policy::drop_packet);
  EXPECT_EQ(of_fragments("drop-flow", false), Policy::ignore);
  EXPECT_EQ(of_fragments("reject", true), Policy::reject);
}

/// As in Suricata since 7.0, a sensor follows these policies.
TEST(Exceptions, PassInASensorIfTheConfigurationSaysSo) {
  EXPECT_EQ(Read("exception-policy: bypass\n").apply(false).of(flows), Policy::bypass);
  EXPECT_EQ(Read("exception-policy: pass-flow\n").apply(false).of(application), Policy::pass);
}

TEST(Exceptions, RefuseOtherNames) {
  try {
    const Read read("stream:\n  midstream-policy: drop\n");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("y:2:21: found 'drop', needs one of auto, ignore, pass-packet"));
  }
}

}  // namespace
}  // namespace penumbra::ids
