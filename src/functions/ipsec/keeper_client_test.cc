// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/keeper_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>

#include "base/scratch_folder.h"
#include "base/unix_socket.h"
#include "control/xfrm/fields.h"
#include "control/xfrm/marks.h"
#include "control/xfrm/message_testing.h"
#include "control/xfrm/protocol.h"

namespace penumbra::ipsec {
namespace {

namespace xfrm = control::xfrm;
using xfrm::testing::address;
using xfrm::testing::Bytes;
using xfrm::testing::esp_sa;
using xfrm::testing::gcm_sa;
using xfrm::testing::id_of;
using xfrm::testing::Message;

class NoReaders : public GracePeriods {
 public:
  std::uint64_t start() override { return 0; }
  bool elapsed(std::uint64_t /*token*/, bool /*wait*/) override { return true; }
};

/// A client whose keeper is the test.
class KeeperClientTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kMostSas = 4;

  void SetUp() override {
    client_.step(now_ms_);
    keeper_ = FileDescriptor(accept(listening_.get(), nullptr, nullptr));
    ASSERT_TRUE(keeper_);
    // The dumps of SAs and policies are empty.
    const Message done(NLMSG_DONE, 0, NLM_F_MULTI);
    tell({done, done});
    ASSERT_TRUE(client_.knows_policies());
  }
  /// Sends messages in one datagram, and lets the client read it.
  void tell(std::initializer_list<Message> messages) {
    Bytes datagram;
    for (const Message& each : messages) {
      const Bytes bytes = each.bytes();
      datagram.insert(datagram.end(), bytes.begin(), bytes.end());
    }
    ASSERT_EQ(send(keeper_.get(), datagram.data(), datagram.size(), 0), static_cast<ssize_t>(datagram.size()));
    client_.step(now_ms_);
    ASSERT_TRUE(client_.is_connected());
  }
  DataSa* find(std::uint32_t spi, const char* destination = "192.0.2.2") {
    xfrm_usersa_id raw = id_of(esp_sa(spi));
    raw.daddr = address(destination);
    return table_.find(xfrm::to_id(raw));
  }
  /// Returns a block for the SA of an SPI.
  penumbra_xfrm_lend block_for(std::uint32_t spi, std::uint64_t first, std::uint32_t count) {
    penumbra_xfrm_lend raw{};
    raw.id = id_of(esp_sa(spi));
    raw.first = first;
    raw.count = count;
    std::ranges::copy(xfrm::fingerprint_of(find(spi)->sa, xfrm::KeySalt{}), raw.key);
    return raw;
  }
  static Message first_numbers(const penumbra_xfrm_lend& block) { return {PENUMBRA_XFRM_FIRST_NUMBERS, block}; }

  ScratchFolder folder_;
  FileDescriptor listening_ = listen_at(folder_ / "keeper", 0600);
  FileDescriptor keeper_;
  NoReaders readers_;
  SaTable table_{kMostSas, readers_};
  KeeperClient client_{folder_ / "keeper", table_};
  std::uint64_t now_ms_ = 1'000'000;
};

TEST_F(KeeperClientTest, TakesNoBlockThatIsForAnotherSaOrWasGiven) {
  tell({gcm_sa(XFRM_MSG_NEWSA, 0x100)});
  const DataSa& sa = *find(0x100);
  tell({first_numbers(block_for(0x100, 1, 100))});
  EXPECT_EQ(sa.numbers.left(), 100U);
  penumbra_xfrm_lend marked = block_for(0x100, 1000, 100);
  marked.mark = 5;
  marked.mask = 0xFF;
  penumbra_xfrm_lend masked = block_for(0x100, 1000, 100);
  masked.mask = 0xFF;
  penumbra_xfrm_lend of_another_key = block_for(0x100, 1000, 100);
  of_another_key.key[15] ^= 1U;
  for (const penumbra_xfrm_lend& wrong : {marked, masked, of_another_key, block_for(0x100, 1, 100),
                                          block_for(0x100, 100, 100), block_for(0x100, ~std::uint64_t{0}, 2)}) {
    tell({first_numbers(wrong)});
    EXPECT_EQ(sa.numbers.left(), 100U);
  }
  EXPECT_EQ(client_.blocks_refused(), 6U);
  tell({first_numbers(block_for(0x100, 101, 100))});
  EXPECT_EQ(sa.numbers.left(), 200U);
  EXPECT_EQ(client_.blocks(), 2U);
}

TEST_F(KeeperClientTest, TakesNoBlockThatWasGivenToAnSaWithTheSameKeyBefore) {
  tell({gcm_sa(XFRM_MSG_NEWSA, 0x100)});
  tell({first_numbers(block_for(0x100, 1, 100))});
  xfrm_usersa_info changed = esp_sa(0x100);
  changed.replay_window = 32;
  Message update(XFRM_MSG_UPDSA, changed);
  update.algorithm<xfrm_algo_aead>(XFRMA_ALG_AEAD, "rfc4106(gcm(aes))", 20, 128);
  tell({update});
  const DataSa& sa = *find(0x100);
  EXPECT_EQ(sa.window->packets(), 32U);
  EXPECT_EQ(sa.numbers.left(), 0U);
  tell({first_numbers(block_for(0x100, 1, 100))});
  EXPECT_EQ(sa.numbers.left(), 0U);
  tell({first_numbers(block_for(0x100, 101, 100))});
  EXPECT_EQ(sa.numbers.left(), 100U);
}

TEST_F(KeeperClientTest, TakesTheAnswerToItsOwnRequestOnly) {
  tell({gcm_sa(XFRM_MSG_NEWSA, 0x100)});
  DataSa& sa = *find(0x100);
  client_.lend(sa, 100);
  ASSERT_TRUE(sa.is_lending);
  const auto answer_to = [&](std::uint32_t sequence, const penumbra_xfrm_lend& block) {
    Message answer(PENUMBRA_XFRM_LEND, block, 0);
    answer.set_sequence(sequence);
    return answer;
  };
  // HELLO, GETDEFAULT and the two dumps came before.
  constexpr std::uint32_t kOwn = 5;
  tell({answer_to(kOwn + 1, block_for(0x100, 1, 100))});
  EXPECT_EQ(sa.numbers.left(), 0U);
  penumbra_xfrm_lend of_another_key = block_for(0x100, 1, 100);
  of_another_key.key[0] ^= 1U;
  tell({answer_to(kOwn, of_another_key)});
  EXPECT_EQ(sa.numbers.left(), 0U);
  EXPECT_FALSE(sa.is_lending) << "it may ask again";
  client_.lend(sa, 100);
  tell({answer_to(kOwn + 1, block_for(0x100, 1, 100))});
  EXPECT_EQ(sa.numbers.left(), 100U);
}

TEST_F(KeeperClientTest, LeavesOutSasWithAMark) {
  tell({gcm_sa(XFRM_MSG_NEWSA, 0x100)});
  const std::uint64_t number = find(0x100)->number;
  const xfrm_mark mark{.v = 5, .m = 0xFF};
  Message marked = gcm_sa(XFRM_MSG_NEWSA, 0x100), other = gcm_sa(XFRM_MSG_NEWSA, 0x101);
  marked.attribute(XFRMA_MARK, mark);
  other.attribute(XFRMA_MARK, mark);
  Message removal(XFRM_MSG_DELSA, id_of(esp_sa(0x100)));
  removal.attribute(XFRMA_MARK, mark);
  tell({marked, other, removal});
  ASSERT_NE(find(0x100), nullptr);
  EXPECT_EQ(find(0x100)->number, number);
  EXPECT_EQ(find(0x101), nullptr);
  tell({Message(XFRM_MSG_DELSA, id_of(esp_sa(0x100)))});
  EXPECT_EQ(find(0x100), nullptr);
}

/// Returns a request that moves the SAs of esp_sa() between two sources.
Message migration(const char* from, const char* to) {
  xfrm_userpolicy_id policy{};
  policy.sel = xfrm::testing::out_policy().sel;
  policy.dir = XFRM_POLICY_OUT;
  xfrm_user_migrate move{};
  move.old_saddr = address(from);
  move.new_saddr = address(to);
  move.old_daddr = move.new_daddr = address("192.0.2.2");
  move.proto = 50;
  move.mode = XFRM_MODE_TUNNEL;
  move.old_family = move.new_family = AF_INET;
  Message message(XFRM_MSG_MIGRATE, policy);
  message.attribute(XFRMA_MIGRATE, move);
  return message;
}

/// Returns an SA with a window of 32 packets that was added at `time`.
Message windowed_sa(std::uint16_t type, std::uint64_t time, std::uint32_t request = 0) {
  xfrm_usersa_info raw = esp_sa(0x100);
  raw.replay_window = 32;
  raw.reqid = request;
  raw.curlft.add_time = time;
  Message message(type, raw);
  message.algorithm<xfrm_algo_aead>(XFRMA_ALG_AEAD, "rfc4106(gcm(aes))", 20, 128);
  return message;
}

TEST_F(KeeperClientTest, SharesTheWindowAndTheCountersWithTheSaThatMoves) {
  tell({windowed_sa(XFRM_MSG_NEWSA, 7)});
  const std::shared_ptr<DataSa> old = table_.sas().begin()->second;
  tell({migration("192.0.2.1", "192.0.2.7")});
  DataSa& moved = *find(0x100);
  ASSERT_NE(&moved, old.get());
  // Workers receive packets on the old SA until they see the new one. These must not be accepted twice.
  EXPECT_EQ(old->window->record(9), Replayed::no);
  old->use->packets.fetch_add(1);
  EXPECT_EQ(moved.window->check(9), Replayed::yes);
  EXPECT_EQ(moved.window->check(8), Replayed::no);
  EXPECT_EQ(moved.use->packets.load(), 1U);
}

TEST_F(KeeperClientTest, SharesTheCountersWithAnUpdateButNotWithANewSaOfTheKey) {
  tell({windowed_sa(XFRM_MSG_NEWSA, 7)});
  const std::shared_ptr<DataSa> old = table_.sas().begin()->second;
  tell({windowed_sa(XFRM_MSG_UPDSA, 7, 3)});
  EXPECT_EQ(old->window->record(9), Replayed::no);
  old->use->packets.fetch_add(1);
  EXPECT_EQ(find(0x100)->window->check(9), Replayed::yes);
  EXPECT_EQ(find(0x100)->use->packets.load(), 1U);
  tell({windowed_sa(XFRM_MSG_NEWSA, 8)});
  EXPECT_EQ(find(0x100)->window->check(9), Replayed::yes);
  EXPECT_EQ(find(0x100)->use->packets.load(), 0U);
}

TEST_F(KeeperClientTest, MovesAsManySasAsThereIsRoomFor) {
  for (std::uint32_t i = 0; i < kMostSas; ++i) tell({gcm_sa(XFRM_MSG_NEWSA, 0x100 + i)});
  table_.commit(true);
  // The keys stay, and none is released until the moved SA goes.
  tell({migration("192.0.2.1", "192.0.2.7"), migration("192.0.2.7", "192.0.2.8")});
  table_.commit(true);
  EXPECT_TRUE(client_.is_connected());
  ASSERT_EQ(table_.sas().size(), kMostSas);
  for (const auto& [id, sa] : table_.sas()) EXPECT_EQ(to_string(sa->sa.settings.source, AF_INET), "192.0.2.8");
  tell({Message(XFRM_MSG_DELSA, id_of(esp_sa(0x100)))});
  table_.commit(true);
  table_.free_retired(true);
  tell({gcm_sa(XFRM_MSG_NEWSA, 0x200)});
  EXPECT_NE(find(0x200), nullptr);
}

TEST_F(KeeperClientTest, EndsTheGraceOfDeletedSasOnlyIfTheyWouldMove) {
  xfrm_usersa_info other = esp_sa(0x200);
  other.saddr = address("192.0.2.9");
  Message elsewhere(XFRM_MSG_NEWSA, other);
  elsewhere.algorithm<xfrm_algo_aead>(XFRMA_ALG_AEAD, "rfc4106(gcm(aes))", 20, 128);
  tell({gcm_sa(XFRM_MSG_NEWSA, 0x100), elsewhere});
  tell({first_numbers(block_for(0x100, 1, 100)), first_numbers(block_for(0x200, 101, 100))});
  tell({Message(XFRM_MSG_DELSA, id_of(esp_sa(0x100))), Message(XFRM_MSG_DELSA, id_of(other))});
  ASSERT_NE(find(0x100), nullptr) << "it seals until its successor has numbers";
  tell({migration("192.0.2.1", "192.0.2.7")});
  EXPECT_EQ(find(0x100), nullptr) << "the keeper did not move it";
  EXPECT_NE(find(0x200), nullptr);
  now_ms_ += 10'000;
  client_.step(now_ms_);
  EXPECT_EQ(find(0x200), nullptr);
}

TEST_F(KeeperClientTest, SealsNothingMoreWithAnSaThatIsRevoked) {
  tell({gcm_sa(XFRM_MSG_NEWSA, 0x100)});
  tell({first_numbers(block_for(0x100, 1, 100))});
  // An SA that is only removed seals until its successor may be there.
  tell({Message(XFRM_MSG_DELSA, id_of(esp_sa(0x100)))});
  ASSERT_NE(find(0x100), nullptr);
  tell({Message(PENUMBRA_XFRM_REVOKE, id_of(esp_sa(0x100)))});
  EXPECT_EQ(find(0x100), nullptr);
  // The SA comes back, to open packets only.
  tell({gcm_sa(XFRM_MSG_NEWSA, 0x100)});
  ASSERT_NE(find(0x100), nullptr);
  EXPECT_EQ(find(0x100)->numbers.left(), 0U);
}

TEST_F(KeeperClientTest, RemovesOnlyWhatIsFlushed) {
  const auto flush_policies = [](std::uint8_t type) {
    Message message(XFRM_MSG_FLUSHPOLICY, nlattr{.nla_len = sizeof(nlattr), .nla_type = XFRMA_PAD});
    return message.attribute(XFRMA_POLICY_TYPE, xfrm_userpolicy_type{.type = type, .reserved1 = 0, .reserved2 = 0});
  };
  tell({gcm_sa(XFRM_MSG_NEWSA, 0x100)});
  tell({xfrm::testing::policy_for(1)});
  tell({flush_policies(XFRM_POLICY_TYPE_SUB)});
  tell({Message(XFRM_MSG_FLUSHSA, xfrm_usersa_flush{.proto = 51})});
  EXPECT_NE(find(0x100), nullptr);
  EXPECT_EQ(table_.policies().all().size(), 1U);
  tell({flush_policies(XFRM_POLICY_TYPE_MAIN)});
  tell({Message(XFRM_MSG_FLUSHSA, xfrm_usersa_flush{.proto = 50})});
  EXPECT_EQ(find(0x100), nullptr);
  EXPECT_TRUE(table_.policies().all().empty());
}

TEST_F(KeeperClientTest, ANewKeeperRevokesBeforeItsDump) {
  tell({gcm_sa(XFRM_MSG_NEWSA, 0x100)});
  tell({first_numbers(block_for(0x100, 1, 100))});
  keeper_ = FileDescriptor();
  client_.step(now_ms_);
  now_ms_ += 1000;
  client_.step(now_ms_);
  keeper_ = FileDescriptor(accept(listening_.get(), nullptr, nullptr));
  ASSERT_TRUE(keeper_);
  EXPECT_EQ(find(0x100)->numbers.left(), 100U);
  tell({Message(PENUMBRA_XFRM_REVOKE, id_of(esp_sa(0x100)), NLM_F_MULTI)});
  EXPECT_EQ(find(0x100), nullptr) << "at once";
  Message dumped = gcm_sa(XFRM_MSG_NEWSA, 0x100);
  dumped.set_flags(NLM_F_MULTI);
  const Message done(NLMSG_DONE, 0, NLM_F_MULTI);
  tell({dumped, done, done});
  now_ms_ += 20'000;
  client_.step(now_ms_);
  ASSERT_NE(find(0x100), nullptr);
  EXPECT_EQ(find(0x100)->numbers.left(), 0U);
}

}  // namespace
}  // namespace penumbra::ipsec
