// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/links.h"

#include <gtest/gtest.h>

namespace penumbra::control::netlink {
namespace {

LinkMessage link(std::uint32_t index, const std::string& name, bool up = true, bool carrier = true) {
  return {.removed = false, .index = index, .name = name, .up = up, .carrier = carrier, .vrf_table = {}};
}

TEST(Links, ASynchronizationForgetsOnlyIfItWasComplete) {
  Links links({"wan", "lan"});
  links.update(link(3, "wan"));
  links.update(link(4, "lan"));
  for (const bool complete : {false, true}) {
    links.begin_sync();
    links.update(link(5, "wan"));
    links.end_sync(complete);
    ASSERT_NE(links.find(5), nullptr);
    EXPECT_EQ(links.find(5)->port, 0);
    EXPECT_EQ(links.find(3) == nullptr, complete);
    EXPECT_EQ(links.find(4) == nullptr, complete);
  }
}

TEST(Links, SaysWhenRoutesMayHaveChangedUnheard) {
  Links links({"wan"});
  EXPECT_FALSE(links.update(link(3, "wan")));
  EXPECT_FALSE(links.update(link(3, "wan")));
  EXPECT_TRUE(links.update(link(3, "wan", true, false)));
  EXPECT_TRUE(links.update(link(3, "wan")));
  EXPECT_TRUE(links.update(link(3, "wan", false)));
  EXPECT_TRUE(links.update(link(3, "other", false))) << "it stands for no port any more";
  LinkMessage gone = link(3, "other");
  gone.removed = true;
  EXPECT_TRUE(links.update(gone));
  EXPECT_FALSE(links.update(gone));
}

}  // namespace
}  // namespace penumbra::control::netlink
