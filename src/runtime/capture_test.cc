// SPDX-License-Identifier: Apache-2.0
#include "runtime/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "io/capture_writer.h"
#include "runtime/rcu.h"
#include "runtime/test_support.h"

namespace penumbra::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr std::chrono::seconds kPatience{20};

/// Holds the packets and the report that a client received.
struct Received {
  std::vector<io::CaptureRecord> records;
  std::vector<std::uint32_t> sequences;
  nlohmann::ordered_json report;
};

/// Provides a pipeline with two ports and numbered packets. This thread is its only worker.
class Capture : public testing::Test {
 protected:
  Capture() {
    rte_mempool* memory = test::packet_memory();
    EXPECT_EQ(rte_pktmbuf_alloc_bulk(memory, packets_.data(), packets_.size()), 0);
    for (std::uint32_t i = 0; i < packets_.size(); ++i) {
      test::Frame frame;
      frame.flow = i % 2;
      frame.sequence = i;
      std::memcpy(rte_pktmbuf_append(packets_[i], sizeof frame), &frame, sizeof frame);
    }
    chunk_.size = static_cast<std::uint16_t>(packets_.size());
    std::copy(packets_.begin(), packets_.end(), chunk_.packets.begin());
  }
  ~Capture() override { rte_pktmbuf_free_bulk(packets_.data(), packets_.size()); }

  /// Requests a capture and returns the client's end of the connection.
  FileDescriptor ask(std::string_view what, const Words& arguments) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    FileDescriptor ours(ends[0]), theirs(ends[1]);
    captures_.start(what, arguments, theirs);
    EXPECT_FALSE(theirs);
    return ours;
  }
  static bool is_told(const FileDescriptor& client, std::chrono::milliseconds patience) {
    pollfd polled{client.get(), POLLIN, 0};
    return ::poll(&polled, 1, static_cast<int>(patience.count())) == 1;
  }
  /// Waits until the capture has begun and returns the client's end of the connection.
  FileDescriptor start(std::string_view what, const Words& arguments) {
    FileDescriptor client = ask(what, arguments);
    EXPECT_TRUE(is_told(client, kPatience));
    return client;
  }
  std::string refusal(std::string_view what, const Words& arguments) {
    FileDescriptor connection(::socket(AF_UNIX, SOCK_STREAM, 0));
    try {
      captures_.start(what, arguments, connection);
    } catch (const std::exception& error) {
      EXPECT_TRUE(connection);
      return error.what();
    }
    return "";
  }

  std::uint16_t reason(const std::string& name) const {
    std::uint16_t index = 0;
    while (pipeline_.reason_name(index) != name) ++index;
    return index;
  }

  static std::string take(const FileDescriptor& socket, std::size_t count) {
    std::string bytes(count, '\0');
    EXPECT_EQ(::recv(socket.get(), bytes.data(), count, MSG_WAITALL), static_cast<ssize_t>(count));
    return bytes;
  }
  static std::string take_line(const FileDescriptor& socket) {
    std::string line;
    for (char byte = 0; ::recv(socket.get(), &byte, 1, 0) == 1 && byte != '\n';) line += byte;
    return line;
  }
  /// Ends the capture and reads all of it.
  static Received finish(const FileDescriptor& socket) {
    ::shutdown(socket.get(), SHUT_WR);
    EXPECT_EQ(nlohmann::ordered_json::parse(take_line(socket))["ok"], true);
    Received received;
    for (;;) {
      std::uint32_t size = 0;
      std::memcpy(&size, take(socket, sizeof size).data(), sizeof size);
      if (size == 0) break;
      const std::string frame = take(socket, size);
      for (std::size_t at = 0; at < frame.size();) {
        io::CaptureRecord record{};
        std::memcpy(&record, frame.data() + at, sizeof record);
        std::uint32_t sequence = 0;
        const std::size_t place = at + sizeof record + offsetof(test::Frame, sequence);
        std::memcpy(&sequence, frame.data() + place, sizeof sequence);
        at += sizeof record + record.captured_bytes;
        received.records.push_back(record);
        received.sequences.push_back(sequence);
      }
    }
    received.report = nlohmann::ordered_json::parse(take_line(socket));
    return received;
  }

  const control::RouterConfig config_ = test::test_config({"wan", "lan"}, 1, 1, test::kSync);
  QsbrGracePeriods grace_periods_{1};
  const std::vector<PortInfo> infos_ = port_infos(config_.ports);
  Pipeline pipeline_{config_.pipeline, infos_, grace_periods_};
  std::array<rte_mbuf*, 6> packets_{};
  Chunk chunk_;
  Captures captures_{pipeline_, {"wan", "lan"}, 1, grace_periods_};
};

TEST_F(Capture, TakesWhatAPortReceives) {
  EXPECT_FALSE(captures_.armed());
  const FileDescriptor wan = start("port", {"wan"}), lan = start("port", {"lan"});
  EXPECT_TRUE(captures_.armed());
  captures_.received(chunk_);
  const Received received = finish(wan);
  EXPECT_THAT(received.sequences, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(received.records[0].wire_bytes, sizeof(test::Frame));
  EXPECT_EQ(received.report,
            (nlohmann::ordered_json{{"captured", 6}, {"lost", 0}, {"reasons", nlohmann::ordered_json::object()}}));
  EXPECT_THAT(finish(lan).sequences, ElementsAre());
  EXPECT_FALSE(captures_.armed());
}

TEST_F(Capture, TakesOnlyWhatWasSentInTheEnd) {
  const FileDescriptor socket = start("port", {"lan", "--direction", "tx"});
  captures_.received(chunk_);
  captures_.sending(0, 1, packets_.data(), 6);
  captures_.sent(0, 1, 4);
  captures_.sending(0, 0, packets_.data(), 6);
  captures_.sent(0, 0, 6);
  captures_.sending(0, 1, packets_.data() + 5, 1);
  captures_.sent(0, 1, 1);
  EXPECT_THAT(finish(socket).sequences, ElementsAre(0, 1, 2, 3, 5));
}

TEST_F(Capture, ABurstThatBeganBeforeItIsNotHalfTaken) {
  captures_.sending(0, 1, packets_.data(), 6);
  const FileDescriptor socket = start("port", {"lan", "--direction", "tx"});
  captures_.sent(0, 1, 6);
  EXPECT_THAT(finish(socket).sequences, ElementsAre());
}

TEST_F(Capture, HasBegunWhenEachWorkerKnows) {
  FileDescriptor socket;
  {
    QsbrGracePeriods::Reader worker(grace_periods_, 0);
    socket = ask("port", {"wan"});
    EXPECT_FALSE(is_told(socket, std::chrono::milliseconds(50)));
    worker.quiescent();
    EXPECT_TRUE(is_told(socket, kPatience));
    captures_.received(chunk_);
  }
  EXPECT_EQ(finish(socket).sequences.size(), 6U);
}

TEST_F(Capture, TellsReasonsApart) {
  const std::uint16_t dropped = reason("test_judge.dropped"), punted = reason("test_judge.late_punted");
  const FileDescriptor drops = start("drops", {}), both = start("drops", {"--punts", "yes"}),
                       one = start("drops", {"--reason", "test_judge.late_punted"});
  captures_.refused(0, *packets_[0], {Verdict::Kind::drop, dropped});
  captures_.refused(0, *packets_[1], {Verdict::Kind::punt, punted});
  captures_.refused(0, *packets_[2], {Verdict::Kind::drop, reason("router.tx_full")});
  EXPECT_THAT(finish(drops).sequences, ElementsAre(0, 2));
  const Received all = finish(both);
  EXPECT_THAT(all.sequences, ElementsAre(0, 1, 2));
  EXPECT_EQ(all.report["reasons"],
            (nlohmann::ordered_json{{"router.tx_full", 1}, {"test_judge.dropped", 1}, {"test_judge.late_punted", 1}}));
  EXPECT_THAT(finish(one).sequences, ElementsAre(1));
}

TEST_F(Capture, FiltersCutsAndCounts) {
  // A test frame has its flow number at byte 14.
  const FileDescriptor socket = start("port", {"wan", "--filter", "ether[14] = 1", "--snaplen", "30", "--count", "2"});
  captures_.received(chunk_);
  const Received received = finish(socket);
  EXPECT_THAT(received.sequences, ElementsAre(1, 3));
  EXPECT_EQ(received.records[1].captured_bytes, 30U);
  EXPECT_EQ(received.records[1].wire_bytes, sizeof(test::Frame));
}

TEST_F(Capture, CountsWhatItLoses) {
  const FileDescriptor socket = start("port", {"wan", "--direction", "both"});
  const std::size_t rounds = 2 * CaptureRing::kBytes / (sizeof(test::Frame) * packets_.size());
  for (std::size_t i = 0; i < rounds; ++i) {
    if (i % 2 == 0) {
      captures_.received(chunk_);
    } else {
      captures_.sending(0, 0, packets_.data(), 6);
      captures_.sent(0, 0, 6);
    }
  }
  const Received received = finish(socket);
  EXPECT_GT(received.report["lost"], 0);
  EXPECT_EQ(received.report["captured"].get<std::size_t>(), received.records.size());
  EXPECT_EQ(received.report["captured"].get<std::size_t>() + received.report["lost"].get<std::size_t>(), rounds * 6);
}

TEST_F(Capture, EndsWithTheRouter) {
  const FileDescriptor socket = start("port", {"wan"});
  captures_.received(chunk_);
  captures_.finish();
  EXPECT_EQ(finish(socket).sequences.size(), 6U);
  EXPECT_EQ(refusal("port", {"wan"}), "the router ends");
}

TEST_F(Capture, SaysWhatIsWrong) {
  EXPECT_THAT(refusal("prot", {}), HasSubstr("port and drops"));
  EXPECT_THAT(refusal("port", {}), HasSubstr("which?"));
  EXPECT_THAT(refusal("port", {"wam"}), HasSubstr("did you mean 'wan'?"));
  EXPECT_THAT(refusal("port", {"wan", "--count"}), HasSubstr("a value is missing"));
  EXPECT_THAT(refusal("port", {"wan", "--cont", "1"}), HasSubstr("unknown option"));
  EXPECT_THAT(refusal("port", {"wan", "--count", "1x"}), HasSubstr("found '1x'"));
  EXPECT_THAT(refusal("port", {"wan", "--filter", "udp or or"}), HasSubstr("syntax error"));
  EXPECT_THAT(refusal("port", {"wan", "--punts", "yes"}), HasSubstr("goes with dropped packets"));
  EXPECT_THAT(refusal("drops", {"--direction", "rx"}), HasSubstr("goes with a port"));
}

}  // namespace
}  // namespace penumbra::runtime
