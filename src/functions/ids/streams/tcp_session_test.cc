// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/streams/tcp_session.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>

#include "functions/ids/streams/stream_testing.h"

namespace penumbra::ids {
namespace {

constexpr std::uint8_t kFin = TcpSegment::kFin, kSyn = TcpSegment::kSyn, kReset = TcpSegment::kReset,
                       kAck = TcpSegment::kAck;
constexpr bool kClient = true, kServer = false;

/// A connection whose client begins with the sequence number 100 and whose server with 500.
class TcpSessionTest : public testing::Test {
 protected:
  explicit TcpSessionTest() : context_(StreamOptions{}) {}
  ~TcpSessionTest() override {
    session_->release(context_);
    EXPECT_EQ(context_.memory.used(), 0U);
    EXPECT_TRUE(recorder_.is_context_right);
  }

  /// Sends a segment; `place` and `acked` count from the first byte after SYN.
  void send(bool client, std::uint8_t flags, std::int64_t place, std::int64_t acked, std::string_view payload = "") {
    const std::int64_t mine = client ? 101 : 501, other = client ? 501 : 101;
    session_->add({.sequence = static_cast<std::uint32_t>(mine + place),
                   .acknowledgement = static_cast<std::uint32_t>(other + acked),
                   .window = 8192,
                   .flags = flags,
                   .payload = bytes_of(payload)},
                  client, context_, recorder_);
  }
  void handshake() {
    send(kClient, kSyn, -1, 0);
    send(kServer, kSyn | kAck, -1, 0);
    send(kClient, kAck, 0, 0);
  }
  std::string& to_server() { return recorder_.texts[true]; }
  std::string& to_client() { return recorder_.texts[false]; }

  StreamContext context_;
  std::unique_ptr<TcpSession> session_ = std::make_unique<TcpSession>();
  StreamRecorder recorder_;
};

TEST_F(TcpSessionTest, TellsWhetherASegmentIsFollowed) {
  const TcpSegment middle{.sequence = 101, .acknowledgement = 501, .window = 8192, .flags = kAck, .payload = {}};
  EXPECT_FALSE(session_->add(middle, kClient, context_, recorder_));
  handshake();
  EXPECT_TRUE(session_->add(middle, kClient, context_, recorder_));
}

TEST_F(TcpSessionTest, KeepsBytesUntilTheReceiverHasThem) {
  context_.options.immediate = true;
  handshake();
  std::string text;
  for (int i = 0; i < 80; ++i) {
    const std::string piece(100, static_cast<char>('a' + i % 26));
    send(kClient, kAck, std::int64_t{i} * 100, 0, piece);
    text += piece;
  }
  EXPECT_EQ(to_server(), text);
  std::string other(text.size(), '-');
  const std::span bytes(reinterpret_cast<std::uint8_t*>(other.data()), other.size());
  const TcpSegment segment{.sequence = 101, .flags = kAck, .payload = bytes};
  EXPECT_TRUE(session_->is_repetition(segment, kClient));
  EXPECT_TRUE(session_->impose(segment, bytes, kClient, context_, recorder_));
  EXPECT_EQ(other, text);
  EXPECT_EQ(recorder_.events.count(StreamEvent::overlap_conflict), 1U);
  EXPECT_FALSE(session_->is_repetition({.sequence = 101 + 8000, .flags = kAck, .payload = bytes}, kClient));
}

TEST_F(TcpSessionTest, RefusesSegmentsWhileTextsUseUpTheMemory) {
  handshake();
  context_.memory.charge(0, context_.memory.limit() + 1);
  send(kClient, kAck, 0, 0, "a");
  EXPECT_EQ(context_.counters.of(StreamEvent::memory_limit), 1U);
  context_.memory.charge(context_.memory.limit() + 1, 0);
  send(kClient, kAck, 0, 0, "b");
  send(kServer, kAck, 0, 1);
  EXPECT_EQ(to_server(), "b");
}

TEST_F(TcpSessionTest, HandsOnWhatIsAcknowledged) {
  handshake();
  EXPECT_EQ(session_->state(), TcpSession::State::established);
  send(kClient, kAck, 0, 0, "GET /");
  EXPECT_EQ(to_server(), "");
  send(kServer, kAck, 0, 5, "HTTP");
  EXPECT_EQ(to_server(), "GET /");
  EXPECT_EQ(to_client(), "");
  send(kClient, kAck | kFin, 5, 4, "!");
  EXPECT_EQ(to_client(), "HTTP");
  EXPECT_EQ(session_->state(), TcpSession::State::closing);
  send(kServer, kAck | kFin, 4, 7);
  EXPECT_EQ(to_server(), "GET /!$");
  send(kClient, kAck, 7, 5);
  EXPECT_EQ(to_client(), "HTTP$");
  EXPECT_EQ(session_->state(), TcpSession::State::closed);
  EXPECT_TRUE(recorder_.events.empty());
  EXPECT_EQ(session_->memory(), 0U);
}

TEST_F(TcpSessionTest, HandsOnAtOnceIfWanted) {
  context_.options.immediate = true;
  handshake();
  send(kClient, kAck, 3, 0, "def");
  EXPECT_EQ(to_server(), "");
  send(kClient, kAck, 0, 0, "abc");
  EXPECT_EQ(to_server(), "abcdef");
}

/// PcapPlusPlus's issue 851: the peer speaks before a hole is filled.
TEST_F(TcpSessionTest, WaitsForAHoleWhileThePeerSpeaks) {
  handshake();
  send(kClient, kAck, 3, 0, "def");
  send(kServer, kAck, 0, 0, "answer");
  EXPECT_EQ(to_server(), "");
  send(kClient, kAck, 0, 6, "abc");
  send(kServer, kAck, 6, 6);
  EXPECT_EQ(to_server(), "abcdef");
  EXPECT_EQ(to_client(), "answer");
}

TEST_F(TcpSessionTest, LeavesOutWhatIsAcknowledgedButNotSeen) {
  handshake();
  send(kClient, kAck, 4, 0, "efgh");
  send(kServer, kAck, 0, 8);
  EXPECT_EQ(to_server(), "[4]efgh");
  send(kServer, kAck, 0, 10);
  EXPECT_EQ(to_server(), "[4]efgh[2]");
  EXPECT_EQ(recorder_.events[StreamEvent::gap], 2);
  EXPECT_EQ(context_.counters.lost, 6U);
}

TEST_F(TcpSessionTest, KeepsTheBytesThatThePolicyTakes) {
  session_ = std::make_unique<TcpSession>(std::array{StreamPolicy::first, StreamPolicy::linux_old});
  handshake();
  send(kClient, kAck, 0, 0, "GOOD");
  send(kClient, kAck, 0, 0, "EVIL");
  send(kServer, kAck, 0, 4, "GOOD");
  send(kServer, kAck, 0, 4, "EVIL");
  send(kClient, kAck, 4, 4);
  EXPECT_EQ(to_server(), "EVIL");
  EXPECT_EQ(to_client(), "GOOD");
  EXPECT_EQ(recorder_.events[StreamEvent::overlap_conflict], 2);
}

TEST_F(TcpSessionTest, FollowsAConnectionFromItsMiddleIfWanted) {
  send(kClient, kAck, 0, 0, "abc");
  EXPECT_EQ(session_->state(), TcpSession::State::none);
  context_.options.midstream = true;
  send(kClient, kAck, 3, 0, "def");
  send(kServer, kAck, 0, 6, "ghi");
  send(kClient, kAck, 6, 3);
  EXPECT_EQ(to_server(), "def");
  EXPECT_EQ(to_client(), "ghi");
  EXPECT_TRUE(session_->is_midstream());
  EXPECT_TRUE(session_->was_established());
}

TEST_F(TcpSessionTest, FollowsOneSideIfWanted) {
  context_.options.one_sided = true;
  send(kClient, kSyn, -1, 0);
  send(kClient, kAck, 0, 0);
  send(kClient, kAck, 0, 0, "abc");
  EXPECT_EQ(to_server(), "abc");
  send(kClient, kAck, 5, 3, "f");
  EXPECT_EQ(to_server(), "abc");
  session_->finish(context_, recorder_);
  EXPECT_EQ(to_server(), "abc[2]f$");
}

TEST_F(TcpSessionTest, TakesDataOfASyn) {
  send(kClient, kSyn, -1, 0, "abc");
  send(kServer, kSyn | kAck, -1, 3);
  EXPECT_EQ(to_server(), "");
  send(kClient, kAck, 3, 0);
  EXPECT_EQ(to_server(), "abc");
  send(kClient, kAck, 3, 0, "def");
  send(kServer, kAck, 0, 6);
  EXPECT_EQ(to_server(), "abcdef");
  EXPECT_TRUE(session_->was_established());
}

TEST_F(TcpSessionTest, FollowsAHandshakeOfFourPackets) {
  send(kClient, kSyn, -1, 0);
  send(kServer, kSyn, -1, 0);
  send(kClient, kSyn | kAck, -1, 0);
  send(kServer, kAck, 0, 0);
  send(kServer, kAck, 0, 0, "EVIL");
  send(kClient, kAck, 0, 4);
  EXPECT_EQ(to_client(), "EVIL");
  EXPECT_EQ(recorder_.events[StreamEvent::four_way_handshake], 1);
}

TEST_F(TcpSessionTest, IgnoresSegmentsThatTheReceiverIgnores) {
  handshake();
  send(kServer, kAck, 0, 0);
  send(kClient, kAck, 9000, 0, "far");
  EXPECT_EQ(recorder_.events[StreamEvent::out_of_window], 1);
  send(kClient, kAck, -4, 0, "xyz");
  EXPECT_EQ(recorder_.events[StreamEvent::segment_before_base], 1);
  send(kServer, kReset, 8200, 0);
  EXPECT_EQ(recorder_.events[StreamEvent::rst_invalid], 1);
  send(kServer, kSyn | kAck, 7, 0);
  EXPECT_EQ(recorder_.events[StreamEvent::syn_resend_different], 1);
  send(kServer, kAck, 0, -5);
  EXPECT_EQ(recorder_.events[StreamEvent::invalid_ack], 1);
  send(kClient, kAck, 0, 0, "abc");
  send(kServer, kAck, 0, 3);
  send(kClient, kAck, 2, 0, "x");  // a keep-alive has any byte
  EXPECT_EQ(recorder_.events[StreamEvent::overlap_conflict], 0);
  send(kClient, kAck | kFin, 3, 0);
  send(kClient, kAck, 3, 0, "late");
  EXPECT_EQ(recorder_.events[StreamEvent::data_after_fin], 1);
  send(kServer, kAck, 0, 4);
  EXPECT_EQ(to_server(), "abc$");
}

TEST_F(TcpSessionTest, RefusesASynAndAckForAnotherSyn) {
  send(kClient, kSyn, -1, 0);
  send(kServer, kSyn | kAck, -1, 77);
  EXPECT_EQ(recorder_.events[StreamEvent::synack_wrong_ack], 1);
  EXPECT_EQ(session_->state(), TcpSession::State::syn_sent);
}

TEST_F(TcpSessionTest, EndsAtAReset) {
  handshake();
  send(kClient, kAck, 0, 0, "abc");
  send(kServer, kReset | kAck, 0, 3);
  EXPECT_EQ(to_server(), "abc$");
  EXPECT_EQ(session_->state(), TcpSession::State::closed);
  const TcpSegment syn{.sequence = 7, .flags = kSyn, .payload = {}};
  EXPECT_TRUE(session_->is_replaced_by(syn, kClient));
}

TEST_F(TcpSessionTest, StopsAtTheDepth) {
  context_.options.depth = {0, 5};
  handshake();
  for (std::int64_t i = 0; i < 3; ++i) {
    send(kClient, kAck, 3 * i, 0, "abc");
    send(kServer, kAck, 3 * i, 3 * i + 3, "def");
  }
  send(kClient, kAck | kFin, 9, 9);
  send(kServer, kAck, 9, 10);
  EXPECT_EQ(to_server(), "abcab$");
  EXPECT_EQ(to_client(), "defdefdef");
  EXPECT_EQ(recorder_.events[StreamEvent::depth_reached], 1);
}

TEST_F(TcpSessionTest, CountsWhatItsLimitsRefuse) {
  context_.options.flow_limit = 8;
  handshake();
  send(kClient, kAck, 4, 0, "efghijk");
  EXPECT_EQ(recorder_.events[StreamEvent::flow_limit], 1);
  send(kClient, kAck, 0, 0, "abcd");
  send(kServer, kAck, 0, 11);
  EXPECT_EQ(to_server(), "abcdefgh[3]");
}

TEST_F(TcpSessionTest, HandsOnEverythingAtItsEnd) {
  handshake();
  send(kClient, kAck, 0, 0, "abc");
  send(kClient, kAck, 5, 0, "fg");
  session_->finish(context_, recorder_);
  EXPECT_EQ(to_server(), "abc[2]fg$");
  EXPECT_EQ(to_client(), "$");
}

TEST(TcpSegment, ReadsTheWindowScale) {
  std::vector<std::uint8_t> header(28);
  header[13] = kSyn;
  header[20] = 1;
  header[21] = 3;
  header[22] = 3;
  header[23] = 99;
  EXPECT_EQ(read_tcp_segment(header, {}).window_scale, 14);
  header[22] = 0;  // an option without a length ends the list
  EXPECT_EQ(read_tcp_segment(header, {}).window_scale, TcpSegment::kNoScale);
}

/// Sends a text in random pieces, out of order, with repetitions, and acknowledges what has arrived.
TEST(TcpSession, HandsOnARandomTextOnce) {
  std::mt19937 random(11);
  const auto number = [&](unsigned most) { return std::uniform_int_distribution<unsigned>(0, most)(random); };
  for (int round = 0; round < 300; ++round) {
    StreamContext context{StreamOptions{.immediate = round % 2 == 0}};
    TcpSession session({static_cast<StreamPolicy>(round % 7), static_cast<StreamPolicy>(round % 7)});
    StreamRecorder recorder;
    // The sequence numbers wrap within the text.
    const std::uint32_t first = 0xFFFFFFFFU - number(400);
    session.add({.sequence = first - 1, .window = 0xFFFF, .flags = kSyn, .payload = {}}, kClient, context, recorder);
    session.add({.sequence = 500, .acknowledgement = first, .window = 0xFFFF, .flags = kSyn | kAck, .payload = {}},
                kServer, context, recorder);
    std::string text;
    for (unsigned i = 300 + number(400); i > 0; --i) text += static_cast<char>('a' + number(25));
    std::string seen(text.size(), 0);
    while (seen.find('\0') != std::string::npos) {
      const std::size_t hole = seen.find('\0');
      const std::size_t begin =
          number(2) == 0 ? hole
                         : std::min<std::size_t>(
                               text.size() - 1,
                               hole + number(90) - number(static_cast<unsigned>(std::min<std::size_t>(hole, 40))));
      const std::size_t size = 1 + number(static_cast<unsigned>(std::min<std::size_t>(text.size() - begin - 1, 60)));
      session.add({.sequence = static_cast<std::uint32_t>(first + begin),
                   .acknowledgement = 501,
                   .window = 0xFFFF,
                   .flags = kAck,
                   .payload = bytes_of(text).subspan(begin, size)},
                  kClient, context, recorder);
      for (std::size_t i = begin; i < begin + size; ++i) seen[i] = 1;
      const std::size_t acked = std::min(seen.find('\0'), text.size());
      if (number(2) == 0) {
        session.add({.sequence = 501,
                     .acknowledgement = static_cast<std::uint32_t>(first + number(static_cast<unsigned>(acked))),
                     .window = 0xFFFF,
                     .flags = kAck,
                     .payload = {}},
                    kServer, context, recorder);
      }
    }
    session.finish(context, recorder);
    ASSERT_EQ(recorder.texts[true], text + "$") << round;
    ASSERT_TRUE(recorder.is_context_right);
    ASSERT_TRUE(recorder.events.empty());
    ASSERT_EQ(context.memory.used(), 0U);
  }
}

}  // namespace
}  // namespace penumbra::ids
