// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "testing/message_of.h"

namespace penumbra::control::netlink {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

HostAddress four(std::uint32_t value, std::uint8_t length) {
  return {Ipv4Address{value}, length};
}

const HostAddress kA = four(0x0A000001, 24), kB = four(0x0A000101, 30);
const HostAddress kSix{Ipv6Address{0xFD00'0000'0000'0000, 1}, 64};

/// Returns the output of `ip address show` for the interface.
std::string shown() {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen("ip address show dev held", "r"), &pclose);
  std::string text;
  for (int letter = 0; pipe != nullptr && (letter = std::fgetc(pipe.get())) != EOF;) {
    text.push_back(static_cast<char>(letter));
  }
  return text;
}

/// Runs the test on a thread in its own network namespace, so that this process stays in its own. Returns the reason if
/// that is impossible.
template <class Test>
std::string in_a_namespace(const Test& test) {
  std::string why_not;
  std::thread([&] {
    if (unshare(CLONE_NEWNET) != 0) {
      why_not = "needs network namespaces";
    } else if (std::system("ip link add held type veth peer name other 2>/dev/null && ip link set held up && "
                           "ip link set other up") != 0) {
      why_not = "needs iproute2 and veth";
    } else {
      test();
    }
  }).join();
  return why_not;
}

TEST(AddressReconciler, GivesWhatIsWantedAndTakesBackOnlyWhatItGave) {
  const std::string why_not = in_a_namespace([] {
    ASSERT_EQ(std::system("ip address add 192.0.2.7/24 dev held"), 0);
    AddressReconciler reconciler;
    std::vector<HostAddress> given;
    reconciler.reconcile("held", {kA, kB, kSix}, given);
    EXPECT_THAT(shown(), AllOf(HasSubstr("10.0.0.1/24"), HasSubstr("10.0.1.1/30"), HasSubstr("fd00::1/64"),
                               HasSubstr("192.0.2.7/24")));
    EXPECT_EQ(given, (std::vector{kA, kB, kSix}));
    reconciler.reconcile("held", {kB}, given);
    EXPECT_THAT(shown(), AllOf(Not(HasSubstr("10.0.0.1/24")), HasSubstr("10.0.1.1/30"), Not(HasSubstr("fd00::1/64")),
                               HasSubstr("192.0.2.7/24")));
    EXPECT_EQ(given, std::vector{kB});
  });
  if (!why_not.empty()) GTEST_SKIP() << why_not;
}

TEST(AddressReconciler, KnowsWhatAnEarlierRunGave) {
  const std::string why_not = in_a_namespace([] {
    std::vector<HostAddress> given;
    AddressReconciler().reconcile("held", {kA, kB}, given);
    std::vector<HostAddress> given_later;
    AddressReconciler().reconcile("held", {kB}, given_later);
    const std::string text = shown();
    // Linux before 5.18 keeps no mark.
    if (text.find(" proto ") != std::string::npos) {
      EXPECT_THAT(text, Not(HasSubstr("10.0.0.1/24")));
    }
    EXPECT_THAT(text, HasSubstr("10.0.1.1/30"));
  });
  if (!why_not.empty()) GTEST_SKIP() << why_not;
}

TEST(AddressReconciler, LeavesAnAddressThatSomebodyElseAddedToHim) {
  const std::string why_not = in_a_namespace([] {
    ASSERT_EQ(std::system("ip address add 10.0.0.1/24 dev held"), 0);
    AddressReconciler reconciler;
    std::vector<HostAddress> given;
    reconciler.reconcile("held", {kA}, given);
    EXPECT_TRUE(given.empty());
    reconciler.reconcile("held", {}, given);
    EXPECT_THAT(shown(), HasSubstr("10.0.0.1/24"));
  });
  if (!why_not.empty()) GTEST_SKIP() << why_not;
}

TEST(AddressReconciler, NoticesChangesAndGivesAgain) {
  const std::string why_not = in_a_namespace([] {
    AddressReconciler reconciler;
    EXPECT_TRUE(reconciler.changed());
    EXPECT_FALSE(reconciler.changed());
    std::vector<HostAddress> given;
    reconciler.reconcile("held", {kA, kSix}, given);
    EXPECT_TRUE(reconciler.changed());
    ASSERT_EQ(std::system("ip address flush dev held"), 0);
    EXPECT_TRUE(reconciler.changed());
    reconciler.reconcile("held", {kA, kSix}, given);
    EXPECT_THAT(shown(), AllOf(HasSubstr("10.0.0.1/24"), HasSubstr("fd00::1/64")));
    EXPECT_EQ(given.size(), 2U);
  });
  if (!why_not.empty()) GTEST_SKIP() << why_not;
}

TEST(AddressReconciler, SaysWhatTheKernelRefuses) {
  const std::string why_not = in_a_namespace([] {
    AddressReconciler reconciler;
    std::vector<HostAddress> given;
    EXPECT_THROW(reconciler.reconcile("absent", {kA}, given), std::system_error);
    EXPECT_THAT(message_of<std::system_error>([&] { reconciler.reconcile("held", {four(0x0A000001, 33)}, given); }),
                HasSubstr("cannot add 10.0.0.1/33"));
    EXPECT_TRUE(given.empty());
  });
  if (!why_not.empty()) GTEST_SKIP() << why_not;
}

}  // namespace
}  // namespace penumbra::control::netlink
