// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/kernel_follower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "control/xfrm/kernel_follower_testing.h"

namespace penumbra::control::xfrm {
namespace {

using testing::cbc;
using testing::deleted;
using testing::esp_sa;
using testing::gcm;
using testing::id_of;
using testing::kernel_policy;
using testing::KernelFollowerTest;
using testing::KernelSa;
using testing::kOwner;
using testing::Message;
using testing::out_policy;
using testing::policy_for;

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
