// SPDX-License-Identifier: Apache-2.0
#include "cli/announcement.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penumbra::cli {
namespace {

TEST(AnnouncePort, NamesDeviceLinkAndTwin) {
  EXPECT_EQ(announce_port({{"name", "wan"},
                           {"driver", "net_af_packet"},
                           {"device", "net_af_packet0"},
                           {"link", "down"},
                           {"mac", "02:00:00:00:00:01"},
                           {"mtu", 1500},
                           {"twin", "wan0"}}),
            "port 'wan': net_af_packet net_af_packet0, link down, MAC 02:00:00:00:00:01, MTU 1500, twin wan0");
}

TEST(AnnouncePort, NamesWhereABuiltInPortSends) {
  EXPECT_EQ(
      announce_port(
          {{"name", "lan"}, {"driver", "none"}, {"sink", "out.pcap"}, {"mac", "02:00:00:00:00:02"}, {"mtu", 9000}}),
      "port 'lan': none, sends to out.pcap, MAC 02:00:00:00:00:02, MTU 9000, no twin");
}

}  // namespace
}  // namespace penumbra::cli
