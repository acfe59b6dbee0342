// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "control/routes.h"

namespace penumbra::control {
#include "control/bad_case.h"

namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kTwoPorts{"wan", "lan"};

std::string written(const std::vector<Neighbour>& neighbours) {
  std::ostringstream text;
  write_neighbours(text, neighbours);
  return text.str();
}

TEST(Neighbours, TakesWhatIpNeighPrints) {
  const auto neighbours = parse_neighbours(
      "# comment\n"
      "192.0.2.1 dev wan lladdr 02:00:00:00:aA:01 REACHABLE\r\n"
      "192.0.2.2 lladdr 02:00:00:00:00:02 dev wan ref 1 used 10/20/30 probes 4 proto zebra DELAY\n"
      "192.0.2.3 dev wan  used 10/20/30probes 6 FAILED\n"
      "192.0.2.4 dev lan INCOMPLETE\n"
      "fe80::11:22ff:fe33:4455 dev eth0 lladdr 02:11:22:33:44:55 router STALE\n"
      "::ffff:192.0.2.9 dev eth0 FAILED\n"
      "\t192.0.2.1 dev lan lladdr 02:00:00:00:00:03 extern_learn router PERMANENT",
      "n", kTwoPorts);
  EXPECT_EQ(written(neighbours),
            "192.0.2.1 dev wan lladdr 02:00:00:00:aa:01\n"
            "192.0.2.2 dev wan lladdr 02:00:00:00:00:02\n"
            "192.0.2.1 dev lan lladdr 02:00:00:00:00:03\n");
  EXPECT_EQ(written(parse_neighbours(written(neighbours), "n", kTwoPorts)), written(neighbours));
}

class NeighbourErrors : public ::testing::TestWithParam<BadCase> {};

TEST_P(NeighbourErrors, SayWhereAndWhat) {
  expect_refused(GetParam(), "n.txt", [] { parse_neighbours(GetParam().text, "n.txt", kTwoPorts); });
}

INSTANTIATE_TEST_SUITE_P(
    All, NeighbourErrors,
    ::testing::Values(BadCase{"192.0.2 dev wan lladdr 02:00:00:00:00:01", 1, 1,
                              "expected an IPv4 address (A.B.C.D), found '192.0.2'"},
                      BadCase{"fe80:1 dev wan lladdr 02:00:00:00:00:01", 1, 1,
                              "expected an IPv4 address (A.B.C.D), found 'fe80:1'"},
                      BadCase{"127.0.0.1 dev wan lladdr 02:00:00:00:00:01", 1, 1, "it is not unicast"},
                      BadCase{"192.0.2.1 dev wna lladdr 02:00:00:00:00:01", 1, 15, "did you mean 'wan'?"},
                      BadCase{"192.0.2.1 lladdr 02:00:00:00:00:01", 1, 35, "'dev PORT' is missing"},
                      BadCase{"\n192.0.2.1 dev wan", 2, 18, "'lladdr MAC' is missing"},
                      BadCase{"192.0.2.1 dev wan STALE", 1, 24, "'lladdr MAC' is missing"},
                      BadCase{"192.0.2.1 dev wan lladdr 02:00:00:00:00", 1, 26, "expected a MAC address"},
                      BadCase{"192.0.2.1 dev wan lladdr 01:00:00:00:00:01", 1, 26, "it is a group address"},
                      BadCase{"192.0.2.1 dev wan lladdr 00:00:00:00:00:00", 1, 26, "it is zero"},
                      BadCase{"192.0.2.1 dev wan lladdr", 1, 25, "expected a MAC address, found the end of the line"},
                      BadCase{"192.0.2.1 dev wan laddr 02:00:00:00:00:01", 1, 19, "did you mean 'lladdr'?"},
                      BadCase{"192.0.2.1 dev wan dev lan", 1, 19, "'dev' is given twice"},
                      BadCase{"192.0.2.1 dev wan lladdr 02:00:00:00:00:01\n192.0.2.1 dev wan lladdr 02:00:00:00:00:02",
                              2, 1, "the neighbour 192.0.2.1 on 'wan' is in line 1 already"}));

}  // namespace
}  // namespace penumbra::control
