// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/follower.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "control/fpm/source.h"  // Needed for the destructor of Follower.
#include "control/netlink/testing.h"

namespace penumbra::control::netlink {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 30s;
constexpr int kFailures = 3;

/// Throws for its first neighbours.
class Failing final : public SilentListener {
 public:
  void set_neighbour(std::uint16_t /*port*/, Ipv4Address /*address*/, MacAddress /*mac*/) override {
    if (++asked <= kFailures) throw std::runtime_error("no");
  }

  std::atomic<int> asked{0};
};

/// Moves this process into its own network namespace. Returns the reason if that is impossible.
std::string enter_namespace() {
  if (unshare(CLONE_NEWNET) != 0) return "needs network namespaces";
  const char* const twin = "ip link add twin type veth peer name other 2>/dev/null && ip link set twin up";
  return std::system(twin) == 0 ? "" : "needs iproute2 and veth";
}

/// The listener fails at the first event, again at the synchronization that follows, and once more.
TEST(Follower, BeginsAnewUntilItWorks) {
  if (const std::string why_not = enter_namespace(); !why_not.empty()) GTEST_SKIP() << why_not;
  Failing listener;
  Subscription subscription({.targets = {}, .routes = {}, .follow = {"kernel"}, .table = "main"}, listener);
  const Follower follower({"twin"}, {&subscription}, nullptr);
  const char* const neighbours =
      "for i in 1 2 3 4 5; do echo neighbour add 10.0.0.$i lladdr 02:00:00:00:00:0$i dev twin; done | ip -batch -";
  ASSERT_EQ(std::system(neighbours), 0);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto wait_for = [&](const auto& state) {
    while (!state() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(10ms);
    return state();
  };
  EXPECT_TRUE(wait_for([&] { return listener.asked > kFailures; }));
  EXPECT_TRUE(wait_for([&] { return follower.sources().front().problem.empty(); }));
}

}  // namespace
}  // namespace penumbra::control::netlink
