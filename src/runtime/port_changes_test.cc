// SPDX-License-Identifier: Apache-2.0
#include "runtime/port_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "io/tap.h"
#include "runtime/scripted_devices.h"

namespace penumbra::runtime {
namespace {

using test::ChangingRouter;
using test::wait_until;

class PortChangesTest : public testing::Test {
 protected:
  PortChangesTest() { bed_.start(); }

  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const auto& port : bed_.router().show("ports", {})) names.push_back(port.at("name"));
    return names;
  }
  /// Expects the change to fail for `reason`, and ports, devices and packets to be as before. Expects `reopened`
  /// openings of "b".
  void expect_unchanged(const std::string& ports, const std::string& reason, unsigned reopened = 0) {
    const auto before = names();
    const unsigned opened = bed_.device("b").opened;
    EXPECT_THAT([&] { bed_.change(ports); }, testing::ThrowsMessage<std::exception>(testing::HasSubstr(reason)));
    EXPECT_EQ(names(), before);
    EXPECT_EQ(bed_.device("a").opened, 1U);
    EXPECT_EQ(bed_.device("b").opened, opened + reopened);
    EXPECT_EQ(bed_.device("b").mtu, 1500);
    EXPECT_EQ(bed_.device("c").alive, 0U);
    EXPECT_EQ(bed_.device("d").alive, 0U);
    for (std::size_t port = 0; port < 2; ++port) bed_.wait_until_sent(port);
    EXPECT_TRUE(bed_.router().reconfigure(bed_.config(ChangingRouter::ports_a_b()), false).at("changes").empty());
  }
  void end() {
    bed_.stop();
    bed_.join_and_check();
  }

  ChangingRouter bed_{ChangingRouter::ports_a_b(), 2};
};

TEST_F(PortChangesTest, AddsAndRemovesPorts) {
  for (unsigned i = 0; i < 10; ++i) {
    bed_.change(ChangingRouter::ports_a_b() + ChangingRouter::line("c"));
    bed_.wait_until_sent(2);
    bed_.change(ChangingRouter::line("c") + ChangingRouter::line("b"));
    EXPECT_EQ(bed_.device("a").alive, 0U);
    bed_.change(ChangingRouter::ports_a_b());
    bed_.wait_until_sent(0);
  }
  EXPECT_THAT(names(), testing::ElementsAre("a", "b"));
  end();
}

TEST_F(PortChangesTest, ReopensADeviceWithAnotherMtu) {
  bed_.change(ChangingRouter::line("a", "mtu: 1400") + ChangingRouter::line("b", "mtu: 1300"));
  EXPECT_EQ(bed_.device("a").mtu, 1400);
  EXPECT_EQ(bed_.device("b").mtu, 1300);
  for (std::size_t port = 0; port < 2; ++port) bed_.wait_until_sent(port);
  end();
}

TEST_F(PortChangesTest, ARenamedPortKeepsItsDevice) {
  bed_.change(ChangingRouter::line_of_device("a", "wan") + ChangingRouter::line("b"));
  EXPECT_THAT(names(), testing::ElementsAre("wan", "b"));
  bed_.wait_until_sent(0);
  bed_.change(ChangingRouter::line_of_device("a", "lan") + ChangingRouter::line("c"));
  EXPECT_THAT(names(), testing::ElementsAre("lan", "c"));
  bed_.change(ChangingRouter::ports_a_b());
  EXPECT_THAT(names(), testing::ElementsAre("a", "b"));
  EXPECT_EQ(bed_.device("a").opened, 1U);
  end();
}

/// The reopener opens the device with the new name, also if the device was away during the change.
TEST_F(PortChangesTest, ARenamedPortKeepsItsNameWhenItsDeviceReturns) {
  bed_.device("a").opens = false;
  bed_.device("a").lost = true;
  wait_until([this] { return bed_.device("a").refused > 0; }, "an attempt to open the device");
  bed_.change(ChangingRouter::line_of_device("a", "wan") + ChangingRouter::line("b"));
  bed_.device("a").opens = true;
  wait_until([this] { return bed_.device("a").opened == 2; }, "the device");
  bed_.wait_until_sent(0);
  EXPECT_THAT(names(), testing::ElementsAre("wan", "b"));
  EXPECT_TRUE(
      bed_.router()
          .reconfigure(bed_.config(ChangingRouter::line_of_device("a", "wan") + ChangingRouter::line("b")), false)
          .at("changes")
          .empty());
  end();
}

TEST_F(PortChangesTest, ADeviceThatDoesNotOpenChangesNothing) {
  bed_.device("d").opens = false;
  expect_unchanged(ChangingRouter::line("a") + ChangingRouter::line("c") + ChangingRouter::line("d"), "refused");
  end();
}

/// Another program has the interface, or this user may not create one.
TEST_F(PortChangesTest, ATwinThatCannotBeMadeChangesNothing) {
  std::optional<io::Tap> taken;
  try {
    taken.emplace("pnm-taken", MacAddress{0x020000000001U}, 1500);
  } catch (const std::runtime_error&) {
    taken.reset();  // the router cannot create a twin either
  }
  expect_unchanged(ChangingRouter::line("a") + ChangingRouter::line("c", "twin: pnm-taken"), "its twin: ");
  expect_unchanged(ChangingRouter::line("a") + ChangingRouter::line("b", "twin: pnm-taken"), "its twin: ");
  end();
}

/// "a" stays closed until "b" has refused its MTU. Then both devices are reopened with their previous settings.
TEST_F(PortChangesTest, ADeviceThatRefusesItsMtuChangesNothing) {
  bed_.device("b").refused_mtu = 1300;
  expect_unchanged(ChangingRouter::line("c") + ChangingRouter::line("a") + ChangingRouter::line("b", "mtu: 1300"),
                   "refused", 1);
  EXPECT_THROW(bed_.change(ChangingRouter::line("a", "mtu: 1400") + ChangingRouter::line("b", "mtu: 1300")),
               std::runtime_error);
  EXPECT_EQ(bed_.device("a").mtu, 1500);
  EXPECT_EQ(bed_.device("b").mtu, 1500);
  for (std::size_t port = 0; port < 2; ++port) bed_.wait_until_sent(port);
  end();
}

/// The second function refuses the ports, so the first function must get its previous ports again.
TEST_F(PortChangesTest, AFunctionThatCannotHaveThePortsChangesNothing) {
  const std::string refused = "mtu: " + std::to_string(test::kRefusedMtu);
  expect_unchanged(ChangingRouter::ports_a_b() + ChangingRouter::line("c", refused), "no port may");
  expect_unchanged(ChangingRouter::line("a") + ChangingRouter::line("b", refused), "no port may", 2);
  end();
}

/// At first, neither the new nor the old MTU is possible. The PortReopener later opens the device with its previous
/// settings.
TEST_F(PortChangesTest, ADeviceThatCannotBeGivenBackComesBackLater) {
  bed_.device("b").opens = false;
  EXPECT_THROW(bed_.change(ChangingRouter::line("a") + ChangingRouter::line("b", "mtu: 1300")), std::runtime_error);
  EXPECT_THAT(names(), testing::ElementsAre("a", "b"));
  EXPECT_EQ(bed_.device("b").alive, 0U);
  bed_.device("b").opens = true;
  bed_.wait_until_sent(1);
  EXPECT_EQ(bed_.device("b").mtu, 1500);
  end();
}

/// A port without a device gets its new MTU when the device returns.
TEST_F(PortChangesTest, AnAbsentDeviceTakesItsMtuLater) {
  bed_.device("b").opens = false;
  bed_.device("b").lost = true;
  wait_until([&] { return bed_.device("b").refused > 0; }, "attempt");
  bed_.change(ChangingRouter::line("a") + ChangingRouter::line("b", "mtu: 1300"));
  bed_.device("b").opens = true;
  bed_.wait_until_sent(1);
  EXPECT_EQ(bed_.device("b").mtu, 1300);
  end();
}

}  // namespace
}  // namespace penumbra::runtime
