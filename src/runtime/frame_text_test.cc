// SPDX-License-Identifier: Apache-2.0
#include "runtime/frame_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace penumbra::runtime {
namespace {

/// Returns an Ethernet frame with a UDP packet from 192.0.2.1 port 53 to 198.51.100.2 port 4000.
std::vector<std::uint8_t> udp_frame() {
  return {0x02, 0,  0,    0,    0, 0x02, 0x02, 0, 0,  0,  0, 0x01, 0x08, 0x00,                         // Ethernet.
          0x45, 0,  0,    32,   0, 0,    0,    0, 64, 17, 0, 0,    192,  0,    2, 1, 198, 51, 100, 2,  // IPv4.
          0,    53, 0x0F, 0xA0, 0, 12,   0,    0, 1,  2,  3, 4};                                       // UDP.
}

TEST(FrameText, NamesAnIpv4FlowByItsFiveTuple) {
  EXPECT_EQ(describe_frame(udp_frame(), 60),
            "60 bytes, 02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype 0x0800: "
            "IPv4 192.0.2.1:53 > 198.51.100.2:4000 UDP ttl 64 length 32");
}

TEST(FrameText, ReadsNoPortsFromALaterFragment) {
  auto frame = udp_frame();
  frame[21] = 1;
  EXPECT_THAT(describe_frame(frame, 46), testing::HasSubstr("IPv4 192.0.2.1 > 198.51.100.2 UDP"));
}

TEST(FrameText, ShowsTheFirstBytesOfAnythingElse) {
  auto frame = udp_frame();
  frame[12] = 0x86;
  frame[13] = 0xDD;
  EXPECT_THAT(describe_frame(frame, 46), testing::EndsWith("ethertype 0x86dd: 45000020000000004011"
                                                           "0000c0000201..."));
}

TEST(FrameText, TakesFramesOfAnyLengthAndContent) {
  const auto whole = udp_frame();
  std::mt19937 random(3);
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    // A copy of exactly this size lets the sanitizer find reads past its end.
    std::vector<std::uint8_t> frame(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THAT(describe_frame(frame, length), testing::StartsWith(std::to_string(length) + " bytes"));
    for (int round = 0; round < 200 && length > 0; ++round) {
      frame[random() % length] = static_cast<std::uint8_t>(random());
      EXPECT_THAT(describe_frame(frame, length), testing::StartsWith(std::to_string(length) + " bytes"));
    }
  }
}

}  // namespace
}  // namespace penumbra::runtime
