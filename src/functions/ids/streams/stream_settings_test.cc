// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/streams/stream_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "penumbra/errors.h"

namespace penumbra::ids {
namespace {

StreamSettings read(const std::string& text) {
  return read_stream_settings(ConfigNode::parse(text, "suricata.yaml", "/"));
}

TEST(StreamSettings, HaveDefaults) {
  const StreamSettings settings = read("{}");
  EXPECT_FALSE(settings.options.midstream || settings.options.one_sided);
  EXPECT_EQ(settings.options.depth[0], 1U << 20);
  EXPECT_TRUE(settings.policies.empty());
}

TEST(StreamSettings, AreThoseOfSuricata) {
  const StreamSettings settings = read(
      "stream:\n  midstream: true\n  async-oneside: yes\n  reassembly: {depth: 2kb, memcap: 32mb}\n"
      "host-os-policy:\n  old-linux: [10.0.0.1]\n  windows: [0.0.0.0/0]\n  solaris: [10.0.0.0/8, 2001:db8::/32]\n"
      "  vista: []\n");
  EXPECT_TRUE(settings.options.midstream && settings.options.one_sided);
  EXPECT_EQ(settings.options.depth[1], 2048U);
  EXPECT_EQ(settings.options.memory, std::size_t{32} << 20);
  ASSERT_EQ(settings.policies.size(), 4U);
  // The longest prefix comes last, so that it counts.
  EXPECT_EQ(settings.policies[0].second, StreamPolicy::windows);
  EXPECT_EQ(settings.policies[3].second, StreamPolicy::linux_old);
  EXPECT_TRUE(settings.policies[3].first->contains(Ipv4Address{0x0A000001}));
  EXPECT_FALSE(settings.policies[3].first->contains(Ipv4Address{0x0A000002}));
}

TEST(StreamSettings, AreRefusedAtTheirPlace) {
  for (const char* const text : {"stream:\n  midstream: maybe\n", "stream:\n  reassembly: {depth: 1x}\n",
                                 "host-os-policy:\n  vista: [10.0.0.1]\n", "host-os-policy:\n  bsd: [10.0.0]\n"}) {
    try {
      read(text);
      FAIL() << text;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), testing::StartsWith("suricata.yaml:2:")) << text;
    }
  }
}

}  // namespace
}  // namespace penumbra::ids
