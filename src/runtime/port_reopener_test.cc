// SPDX-License-Identifier: Apache-2.0
#include "runtime/port_reopener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/scripted_devices.h"

namespace penumbra::runtime {
namespace {

using test::ChangingRouter;
using test::wait_until;

std::size_t times_in(const std::string& text, const std::string& words) {
  std::size_t times = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++times;
  return times;
}

TEST(PortReopener, OpensADeviceAgainThatWasLost) {
  ChangingRouter bed(ChangingRouter::ports_a_b(), 2);
  bed.start();
  for (unsigned opened = 2; opened < 4; ++opened) {
    bed.wait_until_sent(0);
    bed.device("a").lost = true;
    wait_until([&] { return bed.device("a").opened == opened; }, "new device");
    bed.wait_until_sent(0);
  }
  bed.stop();
  bed.join_and_check();
}

/// The PortReopener tries repeatedly and warns once.
TEST(PortReopener, WarnsOnceOfADeviceThatCannotBeOpened) {
  ChangingRouter bed(ChangingRouter::ports_a_b(), 1);
  bed.start();
  testing::internal::CaptureStderr();
  bed.device("a").opens = false;
  bed.device("a").lost = true;
  wait_until([&] { return bed.device("a").refused == 2; }, "second attempt");
  bed.wait_until_sent(1);
  EXPECT_EQ(bed.router().show("ports", {}).at(0).at("link"), "down");
  bed.device("a").opens = true;
  bed.wait_until_sent(0);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(times_in(log, "cannot be opened again: "), 1U) << log;
  EXPECT_EQ(times_in(log, "port 'a': open again"), 1U) << log;
  bed.stop();
  bed.join_and_check();
}

/// A new failure after the port's return causes a new warning.
TEST(PortReopener, WarnsAgainOfAPortThatWasRemovedMeanwhile) {
  ChangingRouter bed(ChangingRouter::ports_a_b(), 1);
  bed.start();
  testing::internal::CaptureStderr();
  for (unsigned refused = 1; refused < 3; ++refused) {
    bed.device("a").opens = false;
    bed.device("a").lost = true;
    wait_until([&] { return bed.device("a").refused == refused; }, "attempt");
    bed.change(ChangingRouter::line("b"));
    bed.device("a").opens = true;
    bed.change(ChangingRouter::ports_a_b());
    bed.wait_until_sent(0);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(times_in(log, "cannot be opened again: "), 2U) << log;
  bed.stop();
  bed.join_and_check();
}

/// The memory of a reopened device is freed after its port is removed.
TEST(PortReopener, LetsGoOfMemoryOfADeviceThatCameBack) {
  ChangingRouter bed(ChangingRouter::ports_a_b(), 1);
  std::shared_ptr<void>& memory = bed.device("c").memory;
  memory =
      std::shared_ptr<rte_mempool>(rte_pktmbuf_pool_create("gone", 63, 0, 0, 128, SOCKET_ID_ANY), &rte_mempool_free);
  const std::weak_ptr<void> watched = memory;
  bed.start();
  bed.change(ChangingRouter::ports_a_b() + ChangingRouter::line("c"));
  bed.device("c").lost = true;
  wait_until([&] { return bed.device("c").opened == 2; }, "new device");
  bed.wait_until_sent(2);
  bed.change(ChangingRouter::ports_a_b());
  memory.reset();
  bed.change(ChangingRouter::ports_a_b() + ChangingRouter::line("d"));
  EXPECT_TRUE(watched.expired());
  bed.stop();
  bed.join_and_check();
}

/// The run ends while devices are lost, absent and opened again.
TEST(PortReopener, EndsAtAnyMoment) {
  for (unsigned run = 0; run < 8; ++run) {
    ChangingRouter bed(ChangingRouter::ports_a_b(), 2);
    bed.start();
    bed.device("a").opens = run % 4 != 0;
    bed.device("a").lost = true;
    bed.device("b").lost = run % 2 != 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(run * 30));
    bed.stop();
    bed.join_and_check();
  }
}

}  // namespace
}  // namespace penumbra::runtime
