// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/kernel_follower.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

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

/// Returns the message of the kernel that an SA was deleted.
Message deleted(const xfrm_usersa_info& raw, Message (*describe)(const xfrm_usersa_info&)) {
  const testing::Bytes told = describe(raw).bytes();
  Message message(XFRM_MSG_DELSA, id_of(raw));
  message.attribute(XFRMA_SA, raw);
  const auto attribute = std::span(told).subspan(NLMSG_ALIGN(sizeof(nlmsghdr) + sizeof raw));
  nlattr head{};
  std::memcpy(&head, attribute.data(), sizeof head);
  return message.attribute_bytes(head.nla_type, attribute.subspan(sizeof head, head.nla_len - sizeof head));
}

class KernelFollowerTest : public ManagerTest {
 protected:
  /// Tells the kernel's policies to the manager, and returns the one that it has, or null.
  const Policy* take_policy(const Message& policy) {
    kernel_.tell(policy);
    receive();
    const auto& all = manager_.spd().all();
    return all.size() == 1 ? &all.begin()->second : nullptr;
  }
  static std::vector<std::uint16_t> types_to_data_plane(const Outcome& outcome) {
    std::vector<std::uint16_t> types;
    for (const Buffer* const each : to_group(outcome, PENUMBRA_XFRM_GROUP_DATA_PLANE)) types.push_back(type_of(*each));
    return types;
  }
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
  // Who used the key is not known, even if the SA comes again with other numbers.
  kernel_.at(0x100).sent = 0;
  kernel_.tell(0x100);
  receive();
  EXPECT_EQ(first_number(0x100), 0U);
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

TEST_F(KernelFollowerTest, AKeyThatTheKernelHasUsedIsSpentForGood) {
  synchronize();
  kernel_.add(0x100, gcm);
  kernel_.seal(0x100, 1);
  kernel_.tell(0x100);
  receive();
  EXPECT_NE(why(0x100), "");
  // The same key comes again, and the kernel counts from 0.
  kernel_.tell(Message(XFRM_MSG_DELSA, id_of(esp_sa(0x100))));
  kernel_.remove(0x100);
  kernel_.add(0x100, gcm);
  kernel_.tell(0x100);
  receive();
  EXPECT_EQ(first_number(0x100), 0U);
  HighWaterMarks marks(folder_ / "marks", folder_ / "witness");
  Manager restarted(marks, [this] { return now_; }, kOwner);
  KernelFollower follower(kernel_, restarted, [](std::uint16_t) { return false; });
  Outcome outcome;
  follower.synchronize(outcome);
  EXPECT_EQ(first_number(0x100, restarted), 0U);
  // A keeper that gets the key from a daemon lends nothing either.
  Manager without_kernel(marks, [this] { return now_; }, kOwner);
  without_kernel.set_has_data_plane(true);
  Sender daemon{.user = kDaemon};
  without_kernel.handle(daemon, policy_for(0).bytes(), outcome);
  without_kernel.handle(daemon, gcm(esp_sa(0x100)).bytes(), outcome);
  ASSERT_EQ(without_kernel.sad().all().size(), 1U);
  EXPECT_EQ(first_number(0x100, without_kernel), 0U);
}

TEST_F(KernelFollowerTest, ADeletedSaTellsWhetherTheKernelHasSealed) {
  synchronize();
  // The SA that the first message tells is gone when the keeper asks for it.
  kernel_.add(0x100, gcm);
  kernel_.tell(0x100);
  xfrm_usersa_info used = esp_sa(0x100);
  used.curlft.packets = 1;
  kernel_.tell(deleted(used, gcm));
  kernel_.tell(0x100);
  kernel_.add(0x200, gcm);
  kernel_.tell(deleted(esp_sa(0x200), gcm));
  kernel_.tell(0x200);
  const Outcome outcome = receive();
  EXPECT_EQ(first_number(0x100), 0U);
  EXPECT_EQ(first_number(0x200), 1U);
}

TEST_F(KernelFollowerTest, LostMarksStayLost) {
  kernel_.add(0x100, gcm);
  kernel_.add(0x200, cbc);
  kernel_.add(0x300, cbc);
  kernel_.seal(0x300, 1);
  std::ofstream(folder_ / "marks", std::ios::binary | std::ios::app) << std::string(100, 'x');
  HighWaterMarks marks(folder_ / "marks", folder_ / "witness");
  ASSERT_NE(marks.why_lost(), "");
  Manager manager(marks, [this] { return now_; }, kOwner);
  KernelFollower follower(kernel_, manager, [](std::uint16_t) { return false; });
  Outcome outcome;
  follower.synchronize(outcome);
  EXPECT_NE(HighWaterMarks(folder_ / "marks", folder_ / "witness").why_lost(), "");
  for (const std::uint32_t spi : {0x100U, 0x200U, 0x300U}) EXPECT_EQ(first_number(spi, manager), 0U);
}

TEST_F(KernelFollowerTest, TheDataPlaneGivesUpNumbersAtOnce) {
  kernel_.add(0x100, gcm);
  synchronize();
  EXPECT_EQ(first_number(0x100), 1U);
  kernel_.at(0x100).sent = 0;
  kernel_.seal(0x100, 1);
  EXPECT_EQ(types_to_data_plane(synchronize()), (std::vector<std::uint16_t>{PENUMBRA_XFRM_REVOKE, XFRM_MSG_DELSA}));
  // The SA comes again, to open packets.
  EXPECT_EQ(types_to_data_plane(synchronize()), (std::vector<std::uint16_t>{PENUMBRA_XFRM_REVOKE, XFRM_MSG_NEWSA}));
  // A data plane that connects may have numbers from an earlier keeper.
  penumbra_xfrm_hello hello{};
  hello.options = PENUMBRA_XFRM_DATA_PLANE;
  const Outcome outcome = ask({PENUMBRA_XFRM_HELLO, hello}, kOwner);
  ASSERT_EQ(outcome.replies.size(), 2U);
  EXPECT_EQ(type_of(outcome.replies[0]), PENUMBRA_XFRM_REVOKE);
  EXPECT_EQ(fixed_of<xfrm_usersa_id>(outcome.replies[0]).spi, htonl(0x100));
}

TEST_F(KernelFollowerTest, ContinuesCbcAfterACrashThatFollowsTheLock) {
  kernel_.add(0x100, cbc);
  kernel_.before_answer = [&](std::uint16_t type) {
    if (type != XFRM_MSG_NEWAE) return;
    kernel_.seal(0x100, 7);
    std::filesystem::copy_file(folder_ / "marks", folder_ / "crashed");
  };
  synchronize();
  kernel_.before_answer = nullptr;
  HighWaterMarks marks(folder_ / "crashed", folder_ / "crashed-witness");
  Manager restarted(marks, [this] { return now_; }, kOwner);
  KernelFollower follower(kernel_, restarted, [](std::uint16_t) { return false; });
  Outcome outcome;
  follower.synchronize(outcome);
  EXPECT_EQ(first_number(0x100, restarted), 8U);
}

TEST_F(KernelFollowerTest, RemovesTheSaOfExactlyTheMark) {
  const auto marked = [](const xfrm_usersa_info& raw) { return gcm(raw).attribute(XFRMA_MARK, xfrm_mark{1, 0xFF}); };
  kernel_.add(0x100, marked);
  synchronize();
  kernel_.sas.clear();
  kernel_.add(0x100, gcm);
  kernel_.tell(0x100);
  receive();
  // Linux may have both, of which the newer one has no mark and matches any.
  ASSERT_EQ(known(), 2U);
  Message message(XFRM_MSG_DELSA, id_of(esp_sa(0x100)));
  kernel_.tell(message.attribute(XFRMA_MARK, xfrm_mark{1, 0xFF}));
  receive();
  ASSERT_EQ(known(), 1U);
  EXPECT_NE(find(0x100), nullptr);
}

TEST_F(KernelFollowerTest, PacketsPassInClearUnconditionallyOnly) {
  synchronize();
  xfrm_userpolicy_info bypass = out_policy();
  bypass.index = 9;
  const auto left_out = [&](Message message) {
    EXPECT_NE(take_policy(kernel_policy(1)), nullptr);
    kernel_.tell(Message(XFRM_MSG_FLUSHPOLICY, nlattr{.nla_len = sizeof(nlattr), .nla_type = XFRMA_PAD}));
    return take_policy(message) == nullptr && manager_.spd().all().empty();
  };
  EXPECT_FALSE(left_out(Message(XFRM_MSG_NEWPOLICY, bypass)));
  EXPECT_TRUE(left_out(Message(XFRM_MSG_NEWPOLICY, bypass).attribute(XFRMA_MARK, xfrm_mark{1, 1})));
  const xfrm_userpolicy_type sub{.type = XFRM_POLICY_TYPE_SUB, .reserved1 = 0, .reserved2 = 0};
  EXPECT_TRUE(left_out(Message(XFRM_MSG_NEWPOLICY, bypass).attribute(XFRMA_POLICY_TYPE, sub)));
  EXPECT_TRUE(left_out(Message(XFRM_MSG_NEWPOLICY, bypass).attribute(XFRMA_SEC_CTX, xfrm_user_sec_ctx{})));
  bypass.sel.ifindex = 3;
  EXPECT_TRUE(left_out(Message(XFRM_MSG_NEWPOLICY, bypass)));
  bypass.sel.ifindex = 0;
  bypass.sel.user = 1000;
  EXPECT_TRUE(left_out(Message(XFRM_MSG_NEWPOLICY, bypass)));
  EXPECT_EQ(counters().refused_policies, 1U) << "the log names each policy once";
  // With a mark, packets are protected or blocked whether they have it or not.
  const Policy* policy = take_policy(kernel_policy(1).attribute(XFRMA_MARK, xfrm_mark{1, 1}));
  ASSERT_NE(policy, nullptr);
  EXPECT_EQ(policy->templates.size(), 1U);
  // It takes the place of one that protected packets.
  EXPECT_EQ(take_policy(Message(XFRM_MSG_UPDPOLICY, out_policy()).attribute(XFRMA_MARK, xfrm_mark{1, 1})), nullptr);
}

TEST_F(KernelFollowerTest, BlocksWhatItCannotApply) {
  synchronize();
  const xfrm_userpolicy_type sub{.type = XFRM_POLICY_TYPE_SUB, .reserved1 = 0, .reserved2 = 0};
  const auto is_blocked = [&](const Message& message) {
    const Policy* const policy = take_policy(message);
    const bool blocks = policy != nullptr && policy->action == Action::block && policy->templates.empty();
    kernel_.tell(Message(XFRM_MSG_FLUSHPOLICY, nlattr{.nla_len = sizeof(nlattr), .nla_type = XFRMA_PAD})
                     .attribute(XFRMA_POLICY_TYPE,
                                xfrm_userpolicy_type{policy == nullptr ? std::uint8_t{0} : policy->type, 0, 0}));
    receive();
    return blocks;
  };
  EXPECT_TRUE(is_blocked(kernel_policy(1).attribute(XFRMA_POLICY_TYPE, sub)));
  EXPECT_TRUE(is_blocked(kernel_policy(1).attribute(XFRMA_SEC_CTX, xfrm_user_sec_ctx{})));
  // Without its templates, the policy would let packets pass in clear.
  Message cut = kernel_policy(1);
  cut.cut(1);
  EXPECT_TRUE(is_blocked(cut));
  EXPECT_FALSE(is_blocked(kernel_policy(1)));
}

TEST_F(KernelFollowerTest, AnOutPolicyIsNeverOptional) {
  synchronize();
  xfrm_userpolicy_info raw = out_policy();
  raw.index = 9;
  xfrm_user_tmpl wanted{};
  wanted.id.proto = 50;
  wanted.family = AF_INET;
  wanted.mode = XFRM_MODE_TRANSPORT;
  wanted.optional = 1;
  const Policy* policy = take_policy(Message(XFRM_MSG_NEWPOLICY, raw).attribute(XFRMA_TMPL, wanted));
  ASSERT_NE(policy, nullptr);
  EXPECT_FALSE(policy->templates.at(0).optional);
  // Packets from the peer may come in clear.
  raw.dir = XFRM_POLICY_IN;
  raw.index = 8;
  kernel_.tell(Message(XFRM_MSG_FLUSHPOLICY, nlattr{.nla_len = sizeof(nlattr), .nla_type = XFRMA_PAD}));
  policy = take_policy(Message(XFRM_MSG_NEWPOLICY, raw).attribute(XFRMA_TMPL, wanted));
  ASSERT_NE(policy, nullptr);
  EXPECT_TRUE(policy->templates.at(0).optional);
}

TEST_F(KernelFollowerTest, NoPolicyLeavesBeforeItsSuccessorsHaveCome) {
  const auto policy = [](std::uint32_t index, std::uint8_t prefix) {
    xfrm_userpolicy_info raw = out_policy();
    raw.sel.prefixlen_d = prefix;
    raw.index = index;
    Message message = policy_for(1);
    message.set_fixed(raw);
    return message;
  };
  kernel_.policies = {policy(9, 16), policy(17, 17)};
  synchronize();
  kernel_.policies = {policy(33, 19), policy(25, 18)};
  // Linux replaces a policy during the dump, which then has neither the old nor the new one.
  kernel_.unlisted = {policy(17, 17)};
  kernel_.overrun();
  EXPECT_EQ(types_to_data_plane(receive()),
            (std::vector<std::uint16_t>{XFRM_MSG_UPDPOLICY, XFRM_MSG_UPDPOLICY, XFRM_MSG_DELPOLICY}));
  std::vector<std::uint32_t> indices;
  for (const auto& [number, each] : manager_.spd().all()) indices.push_back(each.index);
  EXPECT_EQ(indices, (std::vector<std::uint32_t>{17, 25, 33}));
  // The order of age decides between policies with one priority.
  kernel_.unlisted.clear();
  kernel_.policies = {policy(17, 17), policy(33, 19), policy(25, 18)};
  kernel_.overrun();
  EXPECT_EQ(types_to_data_plane(receive()), (std::vector<std::uint16_t>{XFRM_MSG_UPDPOLICY}));
  EXPECT_EQ(manager_.spd().all().rbegin()->second.index, 17U);
  EXPECT_TRUE(synchronize().notifications.empty());
}

TEST_F(KernelFollowerTest, RepeatsAnInterruptedDump) {
  kernel_.add(0x100, gcm);
  kernel_.errors[XFRM_MSG_GETSA] = EINTR;
  kernel_.errors_left = 2;
  synchronize();
  EXPECT_EQ(first_number(0x100), 1U);
  kernel_.errors_left = -1;
  EXPECT_THROW(synchronize(), std::system_error);
}

TEST_F(KernelFollowerTest, UnknownDefaultsLetNothingPass) {
  kernel_.errors[XFRM_MSG_GETDEFAULT] = ENOBUFS;
  EXPECT_THROW(synchronize(), std::system_error);
}

TEST_F(KernelFollowerTest, ManySasNeedFewWritesToTheDisk) {
  constexpr std::uint32_t kSas = 200;
  for (std::uint32_t i = 1; i <= kSas; ++i) {
    kernel_.add(0x100 * i, cbc);
    kernel_.seal(0x100 * i, 1);
  }
  std::pair<ino_t, off_t> last;
  int writes = 0;
  kernel_.before_answer = [&](std::uint16_t type) {
    if (type != XFRM_MSG_NEWAE) return;
    struct stat file{};
    ASSERT_EQ(stat((folder_ / "marks").c_str(), &file), 0);
    const std::pair now(file.st_ino, file.st_size);
    if (std::exchange(last, now) != now) ++writes;
  };
  synchronize();
  EXPECT_EQ(counters().locks, kSas);
  EXPECT_EQ(writes, 1) << "before the first lock";
}

TEST_F(KernelFollowerTest, ComparesEverythingAfterALostAnswer) {
  synchronize();
  kernel_.add(0x100, gcm);
  kernel_.tell(0x100);
  kernel_.errors[XFRM_MSG_GETSA] = ENOBUFS;
  kernel_.errors_left = 1;
  receive();
  EXPECT_EQ(counters().resyncs, 1U);
  EXPECT_EQ(first_number(0x100), 1U);
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
