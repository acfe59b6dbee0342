// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "control/xfrm/manager_testing.h"

namespace penumbra::control::xfrm {
namespace {

using testing::Bytes;
using testing::esp_sa;
using testing::gcm_sa;
using testing::id_of;
using testing::kDaemon;
using testing::kOwner;
using testing::kStranger;
using testing::ManagerTest;
using testing::Message;
using testing::out_policy;
using testing::policy_for;

TEST_F(ManagerTest, AddsGetsAndRemovesAnSa) {
  EXPECT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x100)), 0);
  EXPECT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x100)), EEXIST);
  const Outcome outcome = ask(get(0x100));
  ASSERT_EQ(outcome.replies.size(), 1U);
  EXPECT_EQ(type_of(outcome.replies[0]), XFRM_MSG_NEWSA);
  const auto raw = fixed_of<xfrm_usersa_info>(outcome.replies[0]);
  EXPECT_EQ(raw.id.spi, htonl(0x100));
  EXPECT_EQ(raw.sel.family, AF_INET);
  EXPECT_EQ(raw.curlft.add_time, now_);
  EXPECT_EQ(error(remove(0x100)), 0);
  EXPECT_EQ(error(remove(0x100)), ESRCH);
  EXPECT_EQ(error(get(0x100)), ESRCH);
}

TEST_F(ManagerTest, ShowsKeysToTheSenderAndTheDataPlaneOnly) {
  const Outcome added = ask(gcm_sa(XFRM_MSG_NEWSA, 0x100));
  for (const uid_t user : {kDaemon, kOwner, uid_t{0}}) EXPECT_TRUE(has_key(ask(get(0x100), user).replies[0])) << user;
  const Outcome shown = ask(get(0x100), kStranger);
  EXPECT_FALSE(has_key(shown.replies[0]));
  EXPECT_EQ(shown.replies[0].size(), ask(get(0x100)).replies[0].size());
  ASSERT_EQ(to_group(added, XFRMNLGRP_SA).size(), 1U);
  EXPECT_FALSE(has_key(*to_group(added, XFRMNLGRP_SA)[0]));
  EXPECT_TRUE(has_key(*to_group(added, PENUMBRA_XFRM_GROUP_DATA_PLANE)[0]));
  for (const Notification& one : ask(remove(0x100)).notifications) EXPECT_FALSE(has_key(one.message));
}

TEST_F(ManagerTest, SendsNoKeyBackInAnError) {
  Message message = gcm_sa(XFRM_MSG_NEWSA, 0x100);
  ASSERT_EQ(error(message), 0);
  const Outcome refused = ask(message);
  EXPECT_EQ(error_in(refused), EEXIST);
  EXPECT_FALSE(has_key(refused.replies[0]));
}

TEST_F(ManagerTest, LetsOnlyTheDataPlaneListenToKeysAndBorrow) {
  const penumbra_xfrm_hello raw{.port = 1, .groups = 0, .options = PENUMBRA_XFRM_DATA_PLANE};
  EXPECT_EQ(error({PENUMBRA_XFRM_HELLO, raw}, kStranger), EPERM);
  EXPECT_EQ(error({PENUMBRA_XFRM_HELLO, raw}, kOwner), 0);
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x100)), 0);
  EXPECT_EQ(error(lend(0x100, 1), kDaemon), EPERM);
}

TEST_F(ManagerTest, LendsEachNumberOnce) {
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x100)), 0);
  const auto first_of = [&](std::uint32_t spi, std::uint32_t count) {
    return fixed_of<penumbra_xfrm_lend>(ask(lend(spi, count), kOwner).replies[0]).first;
  };
  EXPECT_EQ(first_of(0x100, 65536), 1U);
  EXPECT_EQ(first_of(0x100, 65536), 65537U);
  // The same key returns after a removal (MOBIKE), and under another SPI.
  ASSERT_EQ(error(remove(0x100)), 0);
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x100)), 0);
  EXPECT_EQ(first_of(0x100, 10), 131073U);
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x200)), 0);
  EXPECT_EQ(first_of(0x200, 10), 131083U);
  EXPECT_EQ(first_of(0x100, 10), 131093U);
  EXPECT_EQ(error(lend(0x100, 0), kOwner), EINVAL);
  EXPECT_EQ(error(lend(0x300, 1), kOwner), ESRCH);
}

TEST_F(ManagerTest, NamesTheMarkAndTheKeyOfABlock) {
  Message marked = gcm_sa(XFRM_MSG_NEWSA, 0x100);
  marked.attribute(XFRMA_MARK, xfrm_mark{.v = 5, .m = 0xFF});
  ASSERT_EQ(error(marked), 0);
  penumbra_xfrm_lend wanted{};
  wanted.id = id_of(esp_sa(0x100));
  wanted.mark = 5;
  wanted.count = 10;
  const auto block = fixed_of<penumbra_xfrm_lend>(ask({PENUMBRA_XFRM_LEND, wanted}, kOwner).replies[0]);
  EXPECT_EQ(block.mark, 5U);
  EXPECT_EQ(block.mask, 0xFFU);
  const auto key = fingerprint_of(manager_.sad().all().begin()->second, KeySalt{});
  EXPECT_TRUE(std::ranges::equal(block.key, key));
}

TEST_F(ManagerTest, LendsTheFirstNumbersWithAnSaThatAPolicyWaitsFor) {
  // The policy waits for reqid 0, which esp_sa() has. The SA of the other direction serves no policy.
  const auto lent_with = [](const Outcome& outcome) {
    const Buffer* found = nullptr;
    for (const Notification& one : outcome.notifications) {
      if (one.lent.empty()) continue;
      EXPECT_EQ(one.group, unsigned{PENUMBRA_XFRM_GROUP_DATA_PLANE});
      EXPECT_EQ(type_of(one.lent), PENUMBRA_XFRM_FIRST_NUMBERS);
      EXPECT_EQ(found, nullptr);
      found = &one.lent;
    }
    return found == nullptr ? penumbra_xfrm_lend{} : fixed_of<penumbra_xfrm_lend>(*found);
  };
  EXPECT_EQ(lent_with(ask(gcm_sa(XFRM_MSG_NEWSA, 0x100))).count, 0U) << "there is no policy yet";
  ASSERT_EQ(error(policy_for(0)), 0);
  ASSERT_EQ(error(remove(0x100)), 0);
  const penumbra_xfrm_lend first = lent_with(ask(gcm_sa(XFRM_MSG_NEWSA, 0x100)));
  EXPECT_EQ(first.first, 1U);
  EXPECT_EQ(first.count, unsigned{PENUMBRA_XFRM_FIRST_BLOCK});
  EXPECT_EQ(first.id.spi, htonl(0x100));
  // Nobody else gets these numbers: not who asks, not another SA with the key, and not after a crash.
  EXPECT_EQ(fixed_of<penumbra_xfrm_lend>(ask(lend(0x100, 10), kOwner).replies[0]).first, 65537U);
  EXPECT_EQ(lent_with(ask(gcm_sa(XFRM_MSG_NEWSA, 0x200))).first, 65547U);
  HighWaterMarks marks(folder_ / "marks", folder_ / "witness");
  Manager restarted(marks, [this] { return now_; }, kOwner);
  Sender owner{.user = kOwner};
  Outcome outcome;
  restarted.handle(owner, gcm_sa(XFRM_MSG_NEWSA, 0x100).bytes(), outcome);
  restarted.handle(owner, lend(0x100, 1).bytes(), outcome);
  EXPECT_EQ(fixed_of<penumbra_xfrm_lend>(outcome.replies[1]).first, 131083U);

  // Numbers that no data plane would get are not used up.
  manager_.set_has_data_plane(false);
  EXPECT_EQ(lent_with(ask(gcm_sa(XFRM_MSG_NEWSA, 0x201))).count, 0U);
  EXPECT_EQ(fixed_of<penumbra_xfrm_lend>(ask(lend(0x201, 1), kOwner).replies[0]).first, 131083U);
  manager_.set_has_data_plane(true);

  xfrm_usersa_info back = esp_sa(0x300);
  std::swap(back.id.daddr, back.saddr);
  Message message(XFRM_MSG_NEWSA, back);
  message.algorithm<xfrm_algo_aead>(XFRMA_ALG_AEAD, "rfc4106(gcm(aes))", 20, 128);
  EXPECT_EQ(lent_with(ask(message)).count, 0U);
}

TEST_F(ManagerTest, AnnouncesAnSaWithoutNumbersIfTheyEndOrCannotBeSaved) {
  ASSERT_EQ(error(policy_for(0)), 0);
  const auto is_lent = [](const Outcome& outcome) {
    return std::ranges::any_of(outcome.notifications, [](const Notification& one) { return !one.lent.empty(); });
  };
  Message last = gcm_sa(XFRM_MSG_NEWSA, 0x100);
  last.attribute(XFRMA_REPLAY_VAL, xfrm_replay_state{.oseq = 0xFFFFFF00, .seq = 0, .bitmap = 0});
  const Outcome added = ask(last);
  EXPECT_EQ(error_in(added), 0);
  EXPECT_FALSE(is_lent(added));
  // The folder of the marks is gone, so that the file cannot be replaced.
  std::filesystem::rename(folder_.path(), folder_.path().string() + ".away");
  Outcome unsaved;
  Sender daemon{.user = kDaemon};
  Bytes both = gcm_sa(XFRM_MSG_NEWSA, 0x101).bytes();
  const Bytes second = gcm_sa(XFRM_MSG_NEWSA, 0x102).bytes();
  both.insert(both.end(), second.begin(), second.end());
  manager_.handle(daemon, both, unsaved);
  std::filesystem::rename(folder_.path().string() + ".away", folder_.path());
  EXPECT_EQ(error_in(unsaved), 0);
  EXPECT_FALSE(is_lent(unsaved));
  EXPECT_TRUE(is_lent(ask(gcm_sa(XFRM_MSG_NEWSA, 0x103))));
}

TEST_F(ManagerTest, ContinuesAfterACrash) {
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x100)), 0);
  ask(lend(0x100, 1000), kOwner);
  HighWaterMarks marks(folder_ / "marks", folder_ / "witness");
  Manager restarted(marks, [this] { return now_; }, kOwner);
  Sender owner{.user = kOwner};
  Outcome outcome;
  restarted.handle(owner, gcm_sa(XFRM_MSG_NEWSA, 0x100).bytes(), outcome);
  restarted.handle(owner, lend(0x100, 1000).bytes(), outcome);
  EXPECT_EQ(fixed_of<penumbra_xfrm_lend>(outcome.replies[1]).first, 1001U);
}

TEST_F(ManagerTest, RefusesKeysWithoutTheirMarks) {
  std::filesystem::remove(folder_ / "marks");
  HighWaterMarks marks(folder_ / "marks", folder_ / "witness");
  Manager restarted(marks, [this] { return now_; }, kOwner);
  Sender daemon{.user = kDaemon};
  Outcome outcome;
  restarted.handle(daemon, gcm_sa(XFRM_MSG_NEWSA, 0x100).bytes(), outcome);
  EXPECT_EQ(error_in(outcome), EKEYREJECTED);
}

TEST_F(ManagerTest, EndsAnSaWhoseNumbersEnd) {
  Message message = gcm_sa(XFRM_MSG_NEWSA, 0x100);
  message.attribute(XFRMA_REPLAY_VAL, xfrm_replay_state{.oseq = 0xFFFFFFF0, .seq = 0, .bitmap = 0});
  ASSERT_EQ(error(message), 0);
  const Outcome last = ask(lend(0x100, 100), kOwner);
  const auto raw = fixed_of<penumbra_xfrm_lend>(last.replies[0]);
  EXPECT_EQ(raw.first, 0xFFFFFFF1U);
  EXPECT_EQ(raw.count, 15U);
  ASSERT_EQ(to_group(last, XFRMNLGRP_EXPIRE).size(), 1U);
  EXPECT_EQ(fixed_of<xfrm_user_expire>(*to_group(last, XFRMNLGRP_EXPIRE)[0]).hard, 0);
  const Outcome over = ask(lend(0x100, 1), kOwner);
  EXPECT_EQ(error_in(over), EOVERFLOW);
  EXPECT_EQ(fixed_of<xfrm_user_expire>(*to_group(over, XFRMNLGRP_EXPIRE)[0]).hard, 1);
  EXPECT_EQ(error(get(0x100)), ESRCH);
}

TEST_F(ManagerTest, TellsListenersOfLimits) {
  xfrm_usersa_info raw = esp_sa(0x100);
  raw.lft.soft_add_expires_seconds = 10;
  raw.lft.hard_byte_limit = 5000;
  Message message(XFRM_MSG_NEWSA, raw);
  message.algorithm<xfrm_algo_aead>(XFRMA_ALG_AEAD, "rfc4106(gcm(aes))", 20, 128);
  ASSERT_EQ(error(message), 0);
  now_ += 10;
  Outcome outcome;
  manager_.tick(outcome);
  manager_.tick(outcome);
  ASSERT_EQ(outcome.notifications.size(), 1U);
  EXPECT_EQ(fixed_of<xfrm_user_expire>(outcome.notifications[0].message).hard, 0);
  penumbra_xfrm_usage usage{};
  usage.id = id_of(raw);
  usage.bytes = 5000;
  usage.packets = 4;
  const Outcome used = ask({PENUMBRA_XFRM_USAGE, usage}, kOwner);
  EXPECT_EQ(fixed_of<xfrm_user_expire>(*to_group(used, XFRMNLGRP_EXPIRE)[0]).hard, 1);
  ASSERT_EQ(to_group(used, PENUMBRA_XFRM_GROUP_DATA_PLANE).size(), 1U);
  EXPECT_EQ(type_of(*to_group(used, PENUMBRA_XFRM_GROUP_DATA_PLANE)[0]), XFRM_MSG_DELSA);
}

TEST_F(ManagerTest, CountsForDeadPeerDetection) {
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x100)), 0);
  penumbra_xfrm_usage usage{};
  usage.id = id_of(esp_sa(0x100));
  usage.bytes = 100;
  usage.packets = 2;
  usage.use_time = now_;
  usage.received = 9;
  usage.words = 1;
  for (int i = 0; i < 2; ++i) {
    Message message(PENUMBRA_XFRM_USAGE, usage);
    const std::uint32_t bitmap = 0x1FF;
    Bytes bytes = message.bytes();
    const auto* const word = reinterpret_cast<const std::uint8_t*>(&bitmap);
    bytes.insert(bytes.end(), word, word + sizeof bitmap);
    bytes[0] = static_cast<std::uint8_t>(bytes.size());
    Sender owner{.user = kOwner};
    Outcome outcome;
    manager_.handle(owner, bytes, outcome);
    ASSERT_EQ(error_in(outcome), 0);
  }
  const auto raw = fixed_of<xfrm_usersa_info>(ask(get(0x100)).replies[0]);
  EXPECT_EQ(raw.curlft.packets, 4U);
  EXPECT_EQ(raw.curlft.bytes, 200U);
  EXPECT_EQ(raw.curlft.use_time, now_);
  xfrm_aevent_id event{};
  event.sa_id = id_of(esp_sa(0x100));
  const Outcome state = ask({XFRM_MSG_GETAE, event});
  EXPECT_EQ(type_of(state.replies[0]), XFRM_MSG_NEWAE);
}

TEST_F(ManagerTest, AsksForTheSaOfAPolicyOnce) {
  const Outcome added = ask(policy_for(16));
  ASSERT_EQ(error_in(added), 0);
  penumbra_xfrm_acquire raw{};
  raw.flow = out_policy().sel;
  raw.direction = XFRM_POLICY_OUT;
  raw.policy_index = fixed_of<xfrm_userpolicy_info>(*to_group(added, XFRMNLGRP_POLICY)[0]).index;
  const Outcome asked = ask({PENUMBRA_XFRM_ACQUIRE, raw}, kOwner);
  ASSERT_EQ(to_group(asked, XFRMNLGRP_ACQUIRE).size(), 1U);
  const auto acquire = fixed_of<xfrm_user_acquire>(*to_group(asked, XFRMNLGRP_ACQUIRE)[0]);
  EXPECT_EQ(acquire.seq, 1U);
  EXPECT_EQ(acquire.policy.index, raw.policy_index);
  EXPECT_TRUE(ask({PENUMBRA_XFRM_ACQUIRE, raw}, kOwner).notifications.empty());
  now_ += 31;
  Outcome later;
  manager_.tick(later);
  EXPECT_EQ(to_group(ask({PENUMBRA_XFRM_ACQUIRE, raw}, kOwner), XFRMNLGRP_ACQUIRE).size(), 1U);
}

TEST_F(ManagerTest, BoundsTheSasThatAFloodOfAcquiresMakes) {
  // The SAs of a policy without addresses have those of the packets.
  xfrm_user_tmpl wanted{};
  wanted.id.proto = 50;
  wanted.family = AF_INET;
  Message message(XFRM_MSG_NEWPOLICY, out_policy());
  message.attribute(XFRMA_TMPL, wanted);
  penumbra_xfrm_acquire raw{};
  raw.policy_index = fixed_of<xfrm_userpolicy_info>(*to_group(ask(message), XFRMNLGRP_POLICY)[0]).index;
  raw.direction = XFRM_POLICY_OUT;
  raw.flow = out_policy().sel;
  constexpr std::uint32_t kFlows = 5000, kMost = 4096;
  std::uint32_t asked = 0;
  for (std::uint32_t i = 0; i < kFlows; ++i) {
    raw.flow.daddr.a4 = htonl(0x0A010000 + i);
    asked += ask({PENUMBRA_XFRM_ACQUIRE, raw}, kOwner).notifications.empty() ? 0 : 1;
  }
  EXPECT_EQ(asked, kMost);
  EXPECT_EQ(manager_.sad().all().size(), kMost);
  const Outcome status = ask({PENUMBRA_XFRM_STATUS, std::uint32_t{0}}, kOwner);
  const Buffer& reply = status.replies[0];
  EXPECT_NE(std::string(reply.begin(), reply.end()).find("\"acquires_refused\":904"), std::string::npos);
  // Requests without an answer of the daemon make room in time.
  now_ += 31;
  Outcome later;
  manager_.tick(later);
  EXPECT_TRUE(manager_.sad().all().empty());
  EXPECT_FALSE(ask({PENUMBRA_XFRM_ACQUIRE, raw}, kOwner).notifications.empty());
}

TEST_F(ManagerTest, TellsOfANewMappingOnceASecond) {
  Message message = gcm_sa(XFRM_MSG_NEWSA, 0x100);
  xfrm_encap_tmpl encap{};
  encap.encap_type = 2;
  encap.encap_sport = htons(4500);
  encap.encap_dport = htons(4500);
  message.attribute(XFRMA_ENCAP, encap);
  ASSERT_EQ(error(message), 0);
  xfrm_user_mapping raw{};
  raw.id = id_of(esp_sa(0x100));
  raw.new_saddr = testing::address("198.51.100.7");
  raw.new_sport = htons(1024);
  const Outcome first = ask({PENUMBRA_XFRM_MAPPING, raw}, kOwner);
  ASSERT_EQ(to_group(first, XFRMNLGRP_MAPPING).size(), 1U);
  const auto told = fixed_of<xfrm_user_mapping>(*to_group(first, XFRMNLGRP_MAPPING)[0]);
  EXPECT_EQ(told.old_sport, htons(4500));
  EXPECT_EQ(told.new_sport, htons(1024));
  // The newest of those that come too soon follows later.
  for (const std::uint16_t port : {1025, 1026, 1027}) {
    raw.new_sport = htons(port);
    EXPECT_TRUE(ask({PENUMBRA_XFRM_MAPPING, raw}, kOwner).notifications.empty());
  }
  Outcome too_soon, later, idle;
  manager_.tick(too_soon);
  EXPECT_TRUE(too_soon.notifications.empty());
  ++now_;
  manager_.tick(later);
  ASSERT_EQ(to_group(later, XFRMNLGRP_MAPPING).size(), 1U);
  EXPECT_EQ(fixed_of<xfrm_user_mapping>(*to_group(later, XFRMNLGRP_MAPPING)[0]).new_sport, htons(1027));
  ++now_;
  manager_.tick(idle);
  EXPECT_TRUE(idle.notifications.empty());
}

TEST_F(ManagerTest, DumpsTheNewestFirstInPieces) {
  for (std::uint32_t spi = 1; spi <= 20; ++spi) ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, spi)), 0);
  const Outcome outcome = ask({XFRM_MSG_GETSA, xfrm_usersa_id{}, NLM_F_REQUEST | NLM_F_DUMP});
  ASSERT_NE(outcome.dump, nullptr);
  Sender sender{.user = kDaemon, .port = 42};
  std::vector<std::uint32_t> spis;
  bool done = false;
  for (int pieces = 0; !outcome.dump->is_done; ++pieces) {
    ASSERT_LT(pieces, 20);
    Buffer piece;
    manager_.continue_dump(sender, *outcome.dump, 1000, piece);
    EXPECT_LE(piece.size(), 1000U);
    for (std::size_t at = 0; at < piece.size();) {
      nlmsghdr head;
      std::memcpy(&head, &piece[at], sizeof head);
      if (head.nlmsg_type == XFRM_MSG_NEWSA) {
        xfrm_usersa_info raw;
        std::memcpy(&raw, &piece[at + sizeof head], sizeof raw);
        spis.push_back(ntohl(raw.id.spi));
      }
      done = head.nlmsg_type == NLMSG_DONE;
      at += NLMSG_ALIGN(head.nlmsg_len);
    }
  }
  EXPECT_TRUE(done);
  ASSERT_EQ(spis.size(), 20U);
  EXPECT_TRUE(std::ranges::is_sorted(spis, std::greater<>{}));
}

TEST_F(ManagerTest, LendsNothingIfItsMarksCannotBeSaved) {
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x100)), 0);
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x101)), 0);
  Bytes both = lend(0x100, 100).bytes();
  const Bytes second = lend(0x101, 100).bytes();
  both.insert(both.end(), second.begin(), second.end());
  Sender sender{.user = kOwner, .port = 42, .groups = 0, .wants_text = false};
  Outcome refused, lent;
  // The folder of the marks is gone, so that the file cannot be replaced.
  std::filesystem::rename(folder_.path(), folder_.path().string() + ".away");
  manager_.handle(sender, both, refused);
  std::filesystem::rename(folder_.path().string() + ".away", folder_.path());
  ASSERT_EQ(refused.replies.size(), 2U);
  for (const Buffer& reply : refused.replies) EXPECT_EQ(type_of(reply), NLMSG_ERROR);
  manager_.handle(sender, both, lent);
  ASSERT_EQ(lent.replies.size(), 4U);  // Each with an acknowledgement.
  for (const std::size_t i : {0U, 2U}) {
    ASSERT_EQ(type_of(lent.replies[i]), PENUMBRA_XFRM_LEND);
    EXPECT_GT(fixed_of<penumbra_xfrm_lend>(lent.replies[i]).first, 100U) << "these marks may be on the disk";
  }
}

}  // namespace
}  // namespace penumbra::control::xfrm
