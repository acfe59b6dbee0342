// SPDX-License-Identifier: Apache-2.0
//
// Tests the frames that refuse a packet.
#include "functions/ids/pipeline/rejection.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "functions/ids/detect/testing.h"
#include "packet/checksum.h"
#include "packet/parse.h"
#include "penumbra/bytes.h"

namespace penumbra::ids {
namespace {

/// Returns the frame, or an empty one.
Bytes rejection_of(const Bytes& frame, RejectionTo to) {
  std::array<std::uint8_t, kMostRejectionBytes> out;
  const std::size_t bytes = write_rejection(frame, parse_headers(frame.data(), frame.size(), frame.size()), to, out);
  return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(bytes)};
}

Bytes frame_of(const Packet& packet) {
  Bytes frame = packet.frame();
  frame[5] = 2;
  frame[11] = 3;
  return frame;
}

/// Checks the IPv4 header and the checksum of TCP or ICMP.
void expect_valid(const Bytes& frame) {
  const PacketHeaders headers = parse_headers(frame.data(), frame.size(), frame.size());
  ASSERT_FALSE(headers.is_unparsable());
  const std::uint8_t* const ip = frame.data() + 14;
  EXPECT_TRUE(ipv4_checksum_is_right(ip, 20));
  EXPECT_EQ(load_be16(ip + 2), frame.size() - 14);
  const std::size_t bytes = frame.size() - 34;
  const bool is_tcp = headers.protocol == ip_protocol::kTcp;
  EXPECT_TRUE(is_right_sum((is_tcp ? ipv4_pseudo_sum(ip, ip_protocol::kTcp, bytes) : 0) + ones_sum(ip + 20, bytes)));
}

TEST(Rejection, ResetsBothEndsOfTcp) {
  const Bytes frame = frame_of({.protocol = ip_protocol::kTcp, .tcp_flags = 0x18, .payload = "worm"});
  const Bytes to_source = rejection_of(frame, RejectionTo::source);
  expect_valid(to_source);
  EXPECT_EQ(to_source[5], 3);
  EXPECT_EQ(to_source[11], 2);
  EXPECT_EQ(to_source[14 + 15], 2) << "the source address";
  EXPECT_EQ(to_source[14 + 19], 1);
  const std::uint8_t* tcp = to_source.data() + 34;
  EXPECT_EQ(load_be16(tcp), 53);
  EXPECT_EQ(load_be16(tcp + 2), 1000);
  EXPECT_EQ(load_be32(tcp + 4), 2U) << "what the packet acknowledges";
  EXPECT_EQ(tcp[13], 0x04);

  const Bytes to_destination = rejection_of(frame, RejectionTo::destination);
  expect_valid(to_destination);
  EXPECT_EQ(to_destination[5], 2);
  EXPECT_EQ(to_destination[14 + 15], 1);
  tcp = to_destination.data() + 34;
  EXPECT_EQ(load_be16(tcp), 1000);
  EXPECT_EQ(load_be32(tcp + 4), 1U) << "the sequence number that is expected";
  EXPECT_EQ(load_be32(tcp + 8), 2U);
  EXPECT_EQ(tcp[13], 0x14);
}

TEST(Rejection, AnswersASyn) {
  const Bytes reset = rejection_of(frame_of({.protocol = ip_protocol::kTcp, .tcp_flags = 0x02}), RejectionTo::source);
  expect_valid(reset);
  EXPECT_EQ(load_be32(reset.data() + 38), 0U);
  EXPECT_EQ(load_be32(reset.data() + 42), 2U);
  EXPECT_EQ(reset[34 + 13], 0x14);
}

TEST(Rejection, SaysThatAPortIsUnreachable) {
  const Bytes frame = frame_of({.payload = std::string(500, 'x')});
  const Bytes error = rejection_of(frame, RejectionTo::source);
  expect_valid(error);
  EXPECT_EQ(error[34], 3);
  EXPECT_EQ(error[35], 3);
  EXPECT_TRUE(std::equal(error.begin() + 42, error.end(), frame.begin() + 14));
  EXPECT_GE(error.size(), 42U + 28);
  EXPECT_TRUE(rejection_of(frame, RejectionTo::destination).empty());
}

TEST(Rejection, KeepsTheTags) {
  Bytes frame = frame_of({.protocol = ip_protocol::kTcp});
  frame.insert(frame.begin() + 12, {0x81, 0x00, 0x00, 0x07});
  const Bytes reset = rejection_of(frame, RejectionTo::source);
  const PacketHeaders headers = parse_headers(reset.data(), reset.size(), reset.size());
  EXPECT_EQ(headers.vlan(), 7U);
  EXPECT_EQ(headers.tcp_flags, 0x04);
}

TEST(Rejection, AnswersIpv6) {
  Bytes frame(12, 0);
  append16(frame, ethertype::kIpv6);
  frame.insert(frame.end(), {0x60, 0, 0, 0, 0, 12, ip_protocol::kUdp, 64});
  for (std::uint8_t end = 1; end <= 2; ++end) {
    frame.insert(frame.end(), {0x20, 1, 0xD, 0xB8});
    frame.insert(frame.end(), 11, 0);
    frame.push_back(end);
  }
  frame.insert(frame.end(), {0, 7, 0, 8, 0, 12, 0, 0, 'e', 'v', 'i', 'l'});
  const Bytes error = rejection_of(frame, RejectionTo::source);
  const PacketHeaders headers = parse_headers(error.data(), error.size(), error.size());
  ASSERT_FALSE(headers.is_unparsable());
  EXPECT_EQ(headers.icmp_type, 1);
  EXPECT_EQ(headers.icmp_code, 4);
  EXPECT_EQ(error[14 + 23], 2);
  EXPECT_TRUE(is_right_sum(ipv6_pseudo_sum(error.data() + 14, ip_protocol::kIcmpv6, error.size() - 54) +
                           ones_sum(error.data() + 54, error.size() - 54)));
}

TEST(Rejection, LeavesOutWhatNoAnswerFollows) {
  EXPECT_TRUE(rejection_of(frame_of({.protocol = ip_protocol::kTcp, .tcp_flags = 0x14}), RejectionTo::source).empty());
  Bytes to_many = frame_of({});
  to_many[0] = 1;
  EXPECT_TRUE(rejection_of(to_many, RejectionTo::source).empty());
  Bytes error = frame_of({.protocol = ip_protocol::kIcmp});
  EXPECT_FALSE(rejection_of(error, RejectionTo::source).empty()) << "an echo request";
  error[34] = 3;
  EXPECT_TRUE(rejection_of(error, RejectionTo::source).empty());
  Bytes broadcast = frame_of({});
  broadcast[14 + 16] = 255;
  EXPECT_TRUE(rejection_of(broadcast, RejectionTo::source).empty());
}

}  // namespace
}  // namespace penumbra::ids
