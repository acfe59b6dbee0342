// SPDX-License-Identifier: Apache-2.0
#include "control/fpm/resync.h"

#include <gtest/gtest.h>

namespace penumbra::control::fpm {
namespace {

using namespace std::chrono_literals;
using Due = Resync::Due;

constexpr auto kSettle = 10s, kHold = 100s;

class ResyncTest : public testing::Test {
 protected:
  static Resync::Clock::time_point at(std::chrono::seconds time) { return Resync::Clock::time_point(time); }
  Due due(std::chrono::seconds time, std::size_t stale) { return resync_.due(at(time), stale); }
  Resync resync_{kSettle, kHold};
};

TEST_F(ResyncTest, NothingIsDueBeforeTheFirstClient) {
  EXPECT_EQ(due(100000s, 0), Due::nothing);
}

TEST_F(ResyncTest, AClientAfterWhichNothingIsStaleHasReportedEverything) {
  resync_.connected(at(1s), 0);
  EXPECT_EQ(due(1s, 0), Due::sweep);
  EXPECT_EQ(due(200s, 0), Due::nothing);
}

TEST_F(ResyncTest, StaleRoutesWaitAsLongAsSomeAreReportedAgain) {
  resync_.connected(at(0s), 5);
  EXPECT_EQ(due(9s, 4), Due::nothing);
  EXPECT_EQ(due(18s, 3), Due::nothing);
  EXPECT_EQ(due(27s, 3), Due::nothing);
  EXPECT_EQ(due(28s, 3), Due::sweep);
  EXPECT_EQ(due(29s, 0), Due::nothing);
}

TEST_F(ResyncTest, AllThatIsStaleReportedAgainEndsIt) {
  resync_.connected(at(0s), 5);
  EXPECT_EQ(due(1s, 0), Due::sweep);
}

TEST_F(ResyncTest, WithoutAClientRoutesAreHeldForATime) {
  resync_.connected(at(0s), 0);
  EXPECT_EQ(due(0s, 0), Due::sweep);
  resync_.lost(at(50s));
  EXPECT_EQ(due(149s, 0), Due::nothing);
  EXPECT_EQ(due(150s, 0), Due::withdraw);
  EXPECT_EQ(due(151s, 0), Due::nothing);
}

TEST_F(ResyncTest, AClientThatComesInTimeKeepsThem) {
  resync_.connected(at(0s), 0);
  due(0s, 0);
  resync_.lost(at(50s));
  resync_.connected(at(149s), 5);
  EXPECT_EQ(due(155s, 5), Due::nothing);
  EXPECT_EQ(due(159s, 5), Due::sweep);
}

TEST_F(ResyncTest, ClientsThatComeAndGoAndDoNotTellEverythingDoNotKeepThemForEver) {
  resync_.connected(at(0s), 0);
  due(0s, 0);
  resync_.lost(at(0s));
  for (auto time = 0s; time < 99s; time += 3s) {
    resync_.connected(at(time), 5);
    EXPECT_EQ(due(time + 1s, 5), Due::nothing);
    resync_.lost(at(time + 2s));
    EXPECT_EQ(due(time + 2s, 5), Due::nothing);
  }
  resync_.connected(at(99s), 5);
  resync_.lost(at(101s));
  EXPECT_EQ(due(101s, 2), Due::sweep) << "what the last one did not report again";
  EXPECT_EQ(due(102s, 2), Due::nothing) << "its routes are held again";
  EXPECT_EQ(due(201s, 2), Due::withdraw);
}

}  // namespace
}  // namespace penumbra::control::fpm
