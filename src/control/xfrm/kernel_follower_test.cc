// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/kernel_follower.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "control/xfrm/kernel_testing.h"
#include "control/xfrm/manager_testing.h"

namespace penumbra::control::xfrm {
namespace {

using testing::esp_sa;
using testing::FakeKernel;
using testing::id_of;
using testing::kDaemon;
using testing::KernelSa;
using testing::kOwner;
using testing::ManagerTest;
using testing::Message;
using testing::out_policy;
using testing::policy_for;

constexpr std::uint32_t kEnd = 0xFFFFFFFF;

Message gcm(const xfrm_usersa_info& raw) {
  Message message(XFRM_MSG_NEWSA, raw);
  // Each SA has its own key.
  testing::Bytes content(sizeof(xfrm_algo_aead) + 20, static_cast<std::uint8_t>((ntohl(raw.id.spi) >> 8U) + 1));
  xfrm_algo_aead algorithm{};
  std::strcpy(algorithm.alg_name, "rfc4106(gcm(aes))");
  algorithm.alg_key_len = 160;
  algorithm.alg_icv_len = 128;
  std::memcpy(content.data(), &algorithm, sizeof algorithm);
  return message.attribute_bytes(XFRMA_ALG_AEAD, content);
}

Message cbc(const xfrm_usersa_info& raw) {
  Message message(XFRM_MSG_NEWSA, raw);
  message.algorithm<xfrm_algo>(XFRMA_ALG_CRYPT, "cbc(aes)", 16);
  return message.algorithm<xfrm_algo_auth>(XFRMA_ALG_AUTH_TRUNC, "hmac(sha256)", 32, 128);
}

Message kernel_policy(std::uint32_t request, std::uint32_t index = 9) {
  xfrm_userpolicy_info raw = out_policy();
  raw.index = index;
  Message message = policy_for(request);
  message.set_fixed(raw);
  return message;
}

class KernelFollowerTest : public ManagerTest {
 protected:
  Outcome synchronize() {
    Outcome outcome;
    follower_.synchronize(outcome);
    return outcome;
  }
  Outcome receive() {
    Outcome outcome;
    follower_.receive(outcome);
    return outcome;
  }
  /// Returns the first number of a block; 0 if there is none.
  std::uint64_t first_number(std::uint32_t spi) { return first_number(spi, manager_); }
  std::uint64_t first_number(std::uint32_t spi, Manager& manager) {
    Sender owner{.user = kOwner};
    outcome_ = {};
    manager.handle(owner, lend(spi, 10).bytes(), outcome_);
    if (outcome_.replies.empty() || type_of(outcome_.replies[0]) != PENUMBRA_XFRM_LEND) return 0;
    return fixed_of<penumbra_xfrm_lend>(outcome_.replies[0]).first;
  }
  const Sa* find(std::uint32_t spi) { return manager_.find_sa(to_id(esp_sa(spi)), {}); }
  std::string why(std::uint32_t spi) { return find(spi)->why_unsealed; }
  std::size_t known() const { return manager_.sad().all().size(); }
  const KernelCounters& counters() { return manager_.kernel(); }

  FakeKernel kernel_;
  bool has_offload_ = false;
  KernelFollower follower_{kernel_, manager_, [this](std::uint16_t /*family*/) { return has_offload_; }};
  Outcome outcome_;  ///< Of the last first_number().
};

TEST_F(KernelFollowerTest, TakesWhatTheKernelHasAndRefusesChangesByClients) {
  kernel_.add(0x100, gcm);
  kernel_.add(0x200, gcm);
  kernel_.policies.push_front(kernel_policy(0));
  xfrm_userpolicy_info of_socket = out_policy();
  of_socket.dir = XFRM_POLICY_MAX + 1;
  of_socket.index = 12;
  kernel_.policies.push_front(Message(XFRM_MSG_NEWPOLICY, of_socket));
  synchronize();
  ASSERT_EQ(known(), 2U);
  EXPECT_EQ(manager_.spd().all().size(), 1U);
  // A dump begins with the newest.
  EXPECT_EQ(manager_.sad().all().begin()->second.settings.id.spi, 0x100U);
  EXPECT_EQ(error(testing::gcm_sa(XFRM_MSG_NEWSA, 0x300)), EBUSY);
  EXPECT_EQ(error(remove(0x100), 0), EBUSY);
  EXPECT_EQ(error(policy_for(5)), EBUSY);
  EXPECT_EQ(type_of(ask(get(0x100)).replies[0]), XFRM_MSG_NEWSA);
  EXPECT_EQ(counters().resyncs, 0U);
}

TEST_F(KernelFollowerTest, LocksBeforeItLends) {
  kernel_.policies.push_front(kernel_policy(0));
  synchronize();
  kernel_.add(0x100, gcm);
  kernel_.tell(0x100);
  std::size_t known_before_lock = 99;
  kernel_.before_answer = [&](std::uint16_t type) {
    if (type == XFRM_MSG_NEWAE) {
      known_before_lock = known();
      HighWaterMarks stored(folder_ / "marks", folder_ / "witness");
      EXPECT_EQ(stored.size(), 1U) << "the mark precedes the lock";
    }
  };
  const Outcome outcome = receive();
  EXPECT_EQ(known_before_lock, 0U);
  const auto end = kernel_.asked.end();
  const std::vector<std::uint16_t> last(end - 4, end);
  EXPECT_EQ(last, (std::vector<std::uint16_t>{XFRM_MSG_GETSA, XFRM_MSG_GETSA, XFRM_MSG_NEWAE, XFRM_MSG_GETSA}));
  EXPECT_EQ(kernel_.at(0x100).sent, kEnd);
  EXPECT_EQ(counters().locks, 1U);
  // The SA comes with its first numbers, because a policy waits for it.
  const bool lent =
      std::ranges::any_of(outcome.notifications, [](const Notification& one) { return !one.lent.empty(); });
  EXPECT_TRUE(lent);
  EXPECT_EQ(first_number(0x100), PENUMBRA_XFRM_FIRST_BLOCK + 1U);
}

TEST_F(KernelFollowerTest, NeverSealsWithACounterModeThatTheKernelHasUsed) {
  kernel_.add(0x100, gcm);
  kernel_.seal(0x100, 1);
  kernel_.add(0x200, gcm);
  // The kernel seals until the lock holds.
  kernel_.before_answer = [&](std::uint16_t type) {
    if (type == XFRM_MSG_NEWAE) kernel_.seal(0x200, 1);
  };
  kernel_.add(0x300, gcm).sent = 7;
  synchronize();
  for (const std::uint32_t spi : {0x100U, 0x200U, 0x300U}) {
    EXPECT_NE(why(spi), "") << spi;
    EXPECT_EQ(first_number(spi), 0U);
    EXPECT_EQ(error_in(outcome_), EKEYREJECTED);
  }
}

TEST_F(KernelFollowerTest, AsksForASuccessorOnce) {
  kernel_.add(0x100, gcm);
  kernel_.seal(0x100, 1);
  kernel_.add(0x200, gcm);
  kernel_.seal(0x200, 1);
  synchronize();
  EXPECT_EQ(first_number(0x100), 0U);
  follower_.forward(outcome_.notifications);
  ASSERT_EQ(kernel_.expired.size(), 1U);
  EXPECT_EQ(kernel_.expired[0].state.id.spi, htonl(0x100));
  EXPECT_EQ(kernel_.expired[0].hard, 0);
  // The same SA, and another one of its reqid in the same minute.
  for (const std::uint32_t spi : {0x100U, 0x200U}) {
    EXPECT_EQ(first_number(spi), 0U);
    follower_.forward(outcome_.notifications);
  }
  EXPECT_EQ(kernel_.expired.size(), 1U);
  // The kernel repeats the expiry, which is not sent back.
  xfrm_user_expire repeated{};
  repeated.state = esp_sa(0x100);
  kernel_.tell(Message(XFRM_MSG_EXPIRE, repeated));
  EXPECT_TRUE(receive().notifications.empty());
  now_ += 60;
  Outcome outcome;
  manager_.tick(outcome);
  EXPECT_EQ(first_number(0x200), 0U);
  follower_.forward(outcome_.notifications);
  EXPECT_EQ(kernel_.expired.size(), 2U);
}

TEST_F(KernelFollowerTest, ContinuesTheNumbersOfCbc) {
  kernel_.add(0x100, cbc);
  kernel_.seal(0x100, 5);
  kernel_.before_answer = [&](std::uint16_t type) {
    if (type == XFRM_MSG_NEWAE) kernel_.seal(0x100, 2);
  };
  synchronize();
  EXPECT_EQ(why(0x100), "");
  EXPECT_EQ(kernel_.at(0x100).sent, kEnd);
  HighWaterMarks marks(folder_ / "marks", folder_ / "witness");
  Manager restarted(marks, [this] { return now_; }, kOwner);
  KernelFollower follower(kernel_, restarted, [](std::uint16_t) { return false; });
  Outcome outcome;
  follower.synchronize(outcome);
  EXPECT_EQ(first_number(0x100, restarted), 8U) << "a later process continues, too";
  EXPECT_EQ(first_number(0x100), 8U);
}

TEST_F(KernelFollowerTest, ALaterProcessContinuesAboveTheMark) {
  kernel_.add(0x100, gcm);
  kernel_.add(0x200, gcm);
  synchronize();
  EXPECT_EQ(first_number(0x100), 1U);
  HighWaterMarks marks(folder_ / "marks", folder_ / "witness");
  Manager restarted(marks, [this] { return now_; }, kOwner);
  KernelFollower follower(kernel_, restarted, [](std::uint16_t) { return false; });
  Outcome outcome;
  follower.synchronize(outcome);
  EXPECT_EQ(first_number(0x100, restarted), 11U);
  EXPECT_EQ(first_number(0x200, restarted), 1U) << "locked, and never lent";
  EXPECT_EQ(restarted.kernel().locks, 0U);
}

TEST_F(KernelFollowerTest, ALockWithoutMarkIsNotTrusted) {
  kernel_.add(0x100, gcm).sent = kEnd;
  kernel_.add(0x200, cbc).sent = kEnd;
  synchronize();
  // The message of an update has the daemon's numbers, which are not those of the kernel.
  const std::uint64_t sent = std::exchange(kernel_.at(0x100).sent, 0);
  kernel_.tell(0x100, XFRM_MSG_UPDSA);
  kernel_.at(0x100).sent = sent;
  receive();
  for (const std::uint32_t spi : {0x100U, 0x200U}) {
    EXPECT_NE(why(spi), "") << spi;
    EXPECT_EQ(first_number(spi), 0U);
  }
  EXPECT_EQ(marks_.size(), 0U);
}

TEST_F(KernelFollowerTest, WhatCannotBeLockedOpensOnly) {
  kernel_.add(0x100, [](const xfrm_usersa_info& raw) {
    return gcm(raw).attribute(XFRMA_SA_EXTRA_FLAGS, std::uint32_t{XFRM_SA_XFLAG_OSEQ_MAY_WRAP});
  });
  synchronize();
  EXPECT_NE(why(0x100), "");
  EXPECT_EQ(kernel_.at(0x100).sent, 0U) << "it would begin again at 0";
  kernel_.errors[XFRM_MSG_NEWAE] = EPERM;
  kernel_.add(0x200, gcm);
  kernel_.tell(0x200);
  receive();
  EXPECT_NE(why(0x200), "");
  EXPECT_EQ(first_number(0x200), 0U);
  EXPECT_EQ(counters().lock_failures, 1U);
  // It is deleted between the notification and the lock.
  kernel_.errors[XFRM_MSG_NEWAE] = ESRCH;
  kernel_.add(0x300, gcm);
  kernel_.tell(0x300);
  receive();
  EXPECT_EQ(find(0x300), nullptr);
  kernel_.errors.clear();
  kernel_.add(0x400, gcm);
  kernel_.tell(0x400);
  kernel_.remove(0x400);
  receive();
  EXPECT_EQ(find(0x400), nullptr);
}

TEST_F(KernelFollowerTest, AnIgnoredLockIsNoticed) {
  kernel_.add(0x100, gcm);
  kernel_.before_answer = [&](std::uint16_t type) {
    // The second request for the SA follows the lock.
    if (type == XFRM_MSG_GETSA && std::ranges::count(kernel_.asked, XFRM_MSG_NEWAE) == 1) kernel_.at(0x100).sent = 0;
  };
  synchronize();
  EXPECT_NE(why(0x100), "");
  EXPECT_EQ(counters().locks, 0U);
}

TEST_F(KernelFollowerTest, LocksExtendedNumbersUnlessTheKernelHasAnOffload) {
  const auto extended = [&](std::uint32_t spi) {
    KernelSa& sa = kernel_.add(spi, gcm);
    sa.raw.flags = XFRM_STATE_ESN;
    sa.is_extended = true;
    sa.window = {1, 2, 3, 4};
  };
  extended(0x100);
  synchronize();
  EXPECT_EQ(kernel_.at(0x100).sent, kUnlimited);
  EXPECT_EQ(first_number(0x100), 1U);
  has_offload_ = true;
  extended(0x200);
  kernel_.tell(0x200);
  kernel_.add(0x300, gcm);
  kernel_.tell(0x300);
  receive();
  EXPECT_EQ(first_number(0x200), 0U);
  EXPECT_EQ(first_number(0x300), 1U);
}

TEST_F(KernelFollowerTest, FollowsChanges) {
  kernel_.add(0x100, gcm);
  kernel_.add(0x200, gcm);
  kernel_.add(0x300, gcm);
  synchronize();
  kernel_.tell(Message(XFRM_MSG_DELSA, id_of(esp_sa(0x100))));
  xfrm_user_expire expired{};
  expired.state = esp_sa(0x200);
  expired.hard = 1;
  kernel_.tell(Message(XFRM_MSG_EXPIRE, expired));
  kernel_.tell(kernel_policy(1));
  receive();
  EXPECT_EQ(known(), 1U);
  EXPECT_EQ(manager_.spd().all().size(), 1U);
  // A policy is deleted by its selector or by its index, and the message has both.
  xfrm_userpolicy_info policy = out_policy();
  policy.index = 9;
  xfrm_userpolicy_id removed{};
  removed.dir = XFRM_POLICY_OUT;
  Message message(XFRM_MSG_DELPOLICY, removed);
  message.attribute(XFRMA_POLICY, policy);
  kernel_.tell(message);
  kernel_.tell(Message(XFRM_MSG_FLUSHSA, xfrm_usersa_flush{.proto = 0}));
  receive();
  EXPECT_EQ(known(), 0U);
  EXPECT_EQ(manager_.spd().all().size(), 0U);
  EXPECT_EQ(counters().resyncs, 0U);
}

TEST_F(KernelFollowerTest, LeavesTheAgeOfSasToTheKernel) {
  KernelSa& sa = kernel_.add(0x100, gcm);
  sa.raw.lft.hard_add_expires_seconds = 10;
  sa.raw.lft.hard_packet_limit = 100;
  sa.raw.curlft.add_time = now_;
  synchronize();
  now_ += 100;
  Outcome outcome;
  manager_.tick(outcome);
  EXPECT_EQ(known(), 1U);
  penumbra_xfrm_usage usage{};
  usage.id = id_of(esp_sa(0x100));
  usage.packets = 100;
  follower_.forward(ask({PENUMBRA_XFRM_USAGE, usage}, kOwner).notifications);
  EXPECT_EQ(known(), 0U);
  ASSERT_EQ(kernel_.expired.size(), 1U);
  EXPECT_EQ(kernel_.expired[0].hard, 1);
}

TEST_F(KernelFollowerTest, ComparesEverythingAfterALoss) {
  kernel_.add(0x100, gcm);
  kernel_.add(0x200, gcm);
  kernel_.policies.push_front(kernel_policy(1, 9));
  synchronize();
  const std::size_t asked = kernel_.asked.size();
  EXPECT_TRUE(synchronize().notifications.empty()) << "nothing has changed";
  EXPECT_EQ(std::count(kernel_.asked.begin() + static_cast<std::ptrdiff_t>(asked), kernel_.asked.end(), XFRM_MSG_NEWAE),
            0);
  kernel_.remove(0x100);
  // An SPI comes again with another key.
  kernel_.remove(0x200);
  kernel_.add(0x200, cbc);
  kernel_.add(0x300, gcm);
  kernel_.policies.clear();
  kernel_.policies.push_front(kernel_policy(2, 17));
  kernel_.overrun();
  receive();
  EXPECT_EQ(counters().overruns, 1U);
  EXPECT_EQ(counters().resyncs, 2U);
  EXPECT_EQ(find(0x100), nullptr);
  ASSERT_NE(find(0x200), nullptr);
  EXPECT_TRUE(find(0x200)->settings.algorithms.cipher.has_value());
  EXPECT_EQ(first_number(0x300), 1U);
  ASSERT_EQ(manager_.spd().all().size(), 1U);
  EXPECT_EQ(manager_.spd().all().begin()->second.index, 17U);
}

TEST_F(KernelFollowerTest, AnSaThatLostItsLockLeaves) {
  kernel_.add(0x100, gcm);
  synchronize();
  EXPECT_EQ(first_number(0x100), 1U);
  kernel_.at(0x100).sent = 0;
  kernel_.seal(0x100, 1);
  synchronize();
  EXPECT_EQ(find(0x100), nullptr);
  synchronize();
  EXPECT_EQ(first_number(0x100), 0U);
}

TEST_F(KernelFollowerTest, AnInboundSaThatTheKernelUsesStays) {
  kernel_.add(0x100, gcm);
  synchronize();
  kernel_.at(0x100).raw.curlft.packets = 3;
  kernel_.tell(0x100, XFRM_MSG_UPDSA);
  EXPECT_TRUE(receive().notifications.empty());
  ASSERT_NE(find(0x100), nullptr);
  EXPECT_EQ(first_number(0x100), 0U);
}

TEST_F(KernelFollowerTest, RefusesWhatItCannotProcess) {
  kernel_.add(0x100, [](xfrm_usersa_info raw) {
    raw.id.proto = 51;
    Message message(XFRM_MSG_NEWSA, raw);
    return message.algorithm<xfrm_algo>(XFRMA_ALG_AUTH, "hmac(sha256)", 32);
  });
  kernel_.add(0x200, [](const xfrm_usersa_info& raw) {  // The kernel hides keys.
    Message message(XFRM_MSG_NEWSA, raw);
    testing::Bytes content(sizeof(xfrm_algo_aead) + 20);
    xfrm_algo_aead algorithm{};
    std::strcpy(algorithm.alg_name, "rfc4106(gcm(aes))");
    algorithm.alg_key_len = 160;
    algorithm.alg_icv_len = 128;
    std::memcpy(content.data(), &algorithm, sizeof algorithm);
    return message.attribute_bytes(XFRMA_ALG_AEAD, content);
  });
  kernel_.add(0x300, [](const xfrm_usersa_info& raw) { return Message(XFRM_MSG_NEWSA, raw); });  // It waits for keys.
  Message policy = kernel_policy(1);
  xfrm_user_tmpl unknown{};
  unknown.id.proto = 50;
  unknown.family = AF_INET;
  unknown.mode = 99;
  policy.attribute(XFRMA_TMPL, unknown);
  kernel_.policies.push_front(policy);
  synchronize();
  EXPECT_EQ(known(), 0U);
  EXPECT_EQ(counters().refused_sas, 2U);
  EXPECT_EQ(counters().refused_policies, 1U);
  ASSERT_EQ(manager_.spd().all().size(), 1U);
  EXPECT_EQ(manager_.spd().all().begin()->second.action, Action::block) << "its packets must not pass in clear";
  synchronize();
  EXPECT_EQ(counters().refused_sas, 2U) << "each counts once";
}

TEST_F(KernelFollowerTest, SkipsWhatIsCutOff) {
  synchronize();
  kernel_.add(0x100, gcm);
  for (const Message& whole : {gcm(esp_sa(0x100)), kernel_policy(1), Message(XFRM_MSG_DELSA, id_of(esp_sa(1))),
                               Message(XFRM_MSG_MIGRATE, xfrm_userpolicy_id{})}) {
    const testing::Bytes bytes = whole.bytes();
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      testing::Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      kernel_.events.push_back(cut.empty() ? testing::Bytes(1) : cut);
      receive();
      if (length < sizeof(nlmsghdr)) continue;
      const auto shorter = static_cast<std::uint32_t>(length);
      std::memcpy(cut.data(), &shorter, sizeof shorter);
      kernel_.events.push_back(cut);
      receive();
    }
  }
  EXPECT_LE(known(), 1U);
}

TEST_F(KernelFollowerTest, MovesSasWithTheirWindows) {
  kernel_.add(0x100, gcm);
  kernel_.policies.push_front(kernel_policy(0));
  synchronize();
  EXPECT_EQ(first_number(0x100), 1U);
  xfrm_user_migrate move{};
  move.old_daddr = testing::address("192.0.2.2");
  move.old_saddr = testing::address("192.0.2.1");
  move.new_daddr = testing::address("192.0.2.9");
  move.new_saddr = testing::address("192.0.2.1");
  move.old_family = move.new_family = AF_INET;
  move.proto = 50;
  move.mode = XFRM_MODE_TUNNEL;
  xfrm_userpolicy_id id{};
  id.sel = out_policy().sel;
  id.dir = XFRM_POLICY_OUT;
  Message message(XFRM_MSG_MIGRATE, id);
  message.attribute(XFRMA_MIGRATE, move);
  kernel_.tell(message);
  kernel_.at(0x100).raw.id.daddr = move.new_daddr;
  const Outcome outcome = receive();
  EXPECT_EQ(find(0x100), nullptr);
  ASSERT_EQ(known(), 1U);
  const Sa& moved = manager_.sad().all().begin()->second;
  EXPECT_EQ(moved.settings.id.destination, to_address(move.new_daddr));
  EXPECT_EQ(moved.why_unsealed, "");
  EXPECT_GE(moved.replay.out, 10U);
  EXPECT_EQ(counters().resyncs, 1U);
}

TEST_F(KernelFollowerTest, AnSaThatIsAddedElsewhereKeepsItsWindow) {
  kernel_.add(0x100, gcm).raw.replay_window = 32;
  synchronize();
  penumbra_xfrm_usage usage{};
  usage.id = id_of(esp_sa(0x100));
  usage.received = 5000;
  usage.words = 1;
  Message report(PENUMBRA_XFRM_USAGE, usage);
  report.append_word(0xABCD);
  ASSERT_EQ(error(report, kOwner), 0);
  kernel_.tell(Message(XFRM_MSG_DELSA, id_of(esp_sa(0x100))));
  kernel_.at(0x100).raw.id.daddr = testing::address("192.0.2.9");
  kernel_.tell(0x100);
  receive();
  ASSERT_EQ(known(), 1U);
  const Sa& moved = manager_.sad().all().begin()->second;
  EXPECT_EQ(moved.replay.in, 5000U);
  EXPECT_EQ(moved.replay.bitmap, (std::vector<std::uint32_t>{0xABCD}));
}

TEST(NetlinkLinkTest, TakesDatagramsOfTheKernelOnly) {
  sockaddr_nl sender{};
  sender.nl_family = AF_NETLINK;
  EXPECT_TRUE(is_of_kernel(sender, sizeof sender));
  EXPECT_FALSE(is_of_kernel(sender, 0));
  sender.nl_pid = 1234;
  EXPECT_FALSE(is_of_kernel(sender, sizeof sender));
}

}  // namespace
}  // namespace penumbra::control::xfrm
