// SPDX-License-Identifier: Apache-2.0
//
// Tests the table of flows: when a flow ends, and what happens when the table is full.
#include "functions/ids/detect/flow_tracker.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "functions/ids/detect/testing.h"
#include "packet/parse.h"

namespace penumbra::ids {
namespace {

constexpr std::uint64_t kSecond = 1'000'000;

class FlowTable : public testing::Test {
 protected:
  /// Returns the number of the packet's flow, or 0 if there is no room.
  std::uint64_t send(const Packet& packet, std::uint64_t second) {
    const Bytes frame = packet.frame();
    found_ =
        tracker_.track(PacketView(frame, parse_headers(frame.data(), frame.size(), frame.size())), second * kSecond);
    return found_.flow == nullptr ? 0 : found_.flow->id;
  }
  static Packet answer_to(const Packet& packet) {
    Packet answer = packet;
    std::swap(answer.source, answer.destination);
    std::swap(answer.source_port, answer.destination_port);
    return answer;
  }
  static Packet tcp(std::uint8_t flags) { return {.protocol = ip_protocol::kTcp, .tcp_flags = flags}; }

  FlowTracker tracker_{{.flows = 4}};
  FlowTracker::Found found_;
};

TEST_F(FlowTable, EndsFlowsThatAreIdle) {
  EXPECT_EQ(send({}, 0), 1U);
  EXPECT_EQ(send({}, 30), 1U);
  EXPECT_EQ(send({}, 61), 2U);
  EXPECT_EQ(send(answer_to({}), 70), 2U);
  EXPECT_FALSE(found_.to_server);
  EXPECT_EQ(send({}, 370), 2U) << "both sides have sent";
  EXPECT_EQ(send({}, 671), 3U);
  EXPECT_EQ(tracker_.size(), 1U);
  EXPECT_EQ(tracker_.opened(), 3U);
}

TEST_F(FlowTable, TakesASynAfterTheEndForAnotherFlow) {
  EXPECT_EQ(send(tcp(0x02), 0), 1U);
  EXPECT_EQ(send(tcp(0x02), 1), 1U) << "a repeated SYN";
  EXPECT_EQ(send(answer_to(tcp(0x14)), 2), 1U);
  EXPECT_EQ(send(tcp(0x10), 3), 1U);
  EXPECT_EQ(send(tcp(0x02), 4), 2U);
  send(tcp(0x11), 5);
  send(answer_to(tcp(0x11)), 6);
  EXPECT_EQ(send(tcp(0x02), 7), 3U);
  send(tcp(0x14), 8);
  found_.flow->fate = TrackedFlow::Fate::drop;
  EXPECT_EQ(send(tcp(0x02), 9), 3U) << "a dropped flow stays dropped";
}

TEST_F(FlowTable, KeepsAnsweredFlowsWhenItIsFull) {
  const Packet kept{.source = 9};
  send(kept, 0);
  send(answer_to(kept), 1);
  for (std::uint8_t i = 10; i < 200; ++i) EXPECT_NE(send({.source = i}, 2), 0U);
  EXPECT_EQ(tracker_.size(), 4U);
  EXPECT_EQ(tracker_.evicted(), 187U);
  EXPECT_EQ(send(kept, 3), 1U);
  for (std::uint8_t i = 10; i < 14; ++i) {
    send({.source = i}, 4);
    send(answer_to({.source = i}), 4);
  }
  EXPECT_EQ(send({.source = 20}, 5), 0U) << "all flows have sent both ways";
  EXPECT_NE(send({.source = 20}, 400), 0U) << "their time is over";
}

/// Evictions and ends in any order leave no flow that cannot be found.
TEST_F(FlowTable, FindsEachFlowAgain) {
  FlowTracker tracker({.flows = 64, .key = {1, 2}});
  std::set<std::uint64_t> numbers;
  std::uint64_t now = 0;
  for (int round = 0; round < 4000; ++round) {
    const Packet packet{.source = static_cast<std::uint8_t>(round * 7 % 200), .source_port = 7};
    const Bytes frame = packet.frame();
    const PacketView view(frame, parse_headers(frame.data(), frame.size(), frame.size()));
    now += kSecond / 4;
    const std::uint64_t number = tracker.track(view, now).flow->id;
    ASSERT_EQ(tracker.track(view, now).flow->id, number);
    numbers.insert(number);
    ASSERT_LE(tracker.size(), 64U);
  }
  EXPECT_EQ(numbers.size(), tracker.opened());
  tracker.clear();
  EXPECT_EQ(tracker.size(), 0U);
}

}  // namespace
}  // namespace penumbra::ids
