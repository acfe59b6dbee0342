// SPDX-License-Identifier: Apache-2.0
#include "runtime/frame_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "runtime/frame_text.h"
#include "testing/message_of.h"

namespace penumbra::runtime {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr MacAddress kPort{0x020000000001};

std::string built_text(const Words& words) {
  const auto frame = build_frame(words, kPort);
  return describe_frame(frame, frame.size());
}

std::string build_refusal(const Words& words) {
  return message_of<std::invalid_argument>([&] { build_frame(words, kPort); });
}

TEST(FrameWords, DescribeAPacket) {
  EXPECT_EQ(
      built_text({"src", "10.0.0.1", "dst", "192.0.2.9", "proto", "tcp", "dport", "80", "sport", "1024", "ttl", "1"}),
      "60 bytes, 02:00:00:00:00:fe > 02:00:00:00:00:01, ethertype 0x0800: IPv4 10.0.0.1:1024 > 192.0.2.9:80 TCP ttl "
      "1 length 40");
  EXPECT_THAT(built_text({"src", "10.0.0.1", "dst", "192.0.2.9", "length", "1500", "dmac", "02:00:00:00:00:09"}),
              testing::AllOf(HasSubstr("1514 bytes"), HasSubstr("> 02:00:00:00:00:09"), HasSubstr("UDP ttl 64")));
  EXPECT_THAT(built_text({"smac", "02:00:00:00:00:07", "ethertype", "0x0806"}), HasSubstr("02:00:00:00:00:07 > "));
}

TEST(FrameWords, PutEveryFieldInItsPlace) {
  const auto four = build_frame(Words{"src", "10.0.0.1", "dst", "10.0.0.2", "proto", "tcp", "flags", "SA", "tos",
                                      "0xb8", "vlan", "5", "offset", "0", "more", "1"},
                                kPort);
  EXPECT_EQ(four[12], 0x81);
  EXPECT_EQ(four[15], 5);
  EXPECT_EQ(four[18 + 1], 0xB8);
  EXPECT_EQ(four[18 + 6], 0x20);
  EXPECT_EQ(four[18 + 20 + 13], 0x12);
  std::uint32_t sum = 0;
  for (std::size_t i = 18; i < 38; i += 2) sum += four[i] << 8U | four[i + 1];
  EXPECT_EQ((sum & 0xFFFF) + (sum >> 16), 0xFFFFU) << "the header's checksum";
  const auto six = build_frame(Words{"src", "2001:db8::1", "dst", "2001:db8::2", "proto", "icmpv6", "ttl", "3"}, kPort);
  EXPECT_EQ(six[14] >> 4, 6);
  EXPECT_EQ(six[14 + 5], 8);
  EXPECT_EQ(six[14 + 6], 58);
  EXPECT_EQ(six[14 + 7], 3);
  EXPECT_EQ(six[14 + 8], 0x20);
  EXPECT_EQ(six[14 + 39], 2);
  EXPECT_EQ(six[14 + 40], 128) << "an echo request";
}

TEST(FrameWords, SayWhatIsWrong) {
  EXPECT_THAT(build_refusal({"scr", "10.0.0.1"}), HasSubstr("did you mean 'src'?"));
  EXPECT_THAT(build_refusal({"src"}), HasSubstr("'src' needs a value"));
  EXPECT_THAT(build_refusal({"src", "10.0.0.1"}), HasSubstr("both 'src' and 'dst'"));
  EXPECT_THAT(build_refusal({"src", "10.0.0.1", "src", "10.0.0.1"}), HasSubstr("is given twice"));
  EXPECT_THAT(build_refusal({"src", "10.0.0.1", "dst", "2001:db8::1"}), HasSubstr("found '10.0.0.1'"));
  EXPECT_THAT(build_refusal({"src", "2001:db8::1", "dst", "10.0.0.1"}), HasSubstr("found '2001:db8::1'"));
  EXPECT_THAT(build_refusal({"src", "10.0.0.1", "dst", "10.0.0.2", "ttl", "256"}), HasSubstr("from 0 to 255"));
  EXPECT_THAT(build_refusal({"src", "10.0.0.1", "dst", "10.0.0.2", "ttl", "1x"}), HasSubstr("found '1x'"));
  EXPECT_THAT(build_refusal({"src", "10.0.0.1", "dst", "10.0.0.2", "ttl", ""}), HasSubstr("found ''"));
  EXPECT_THAT(build_refusal({"src", "10.0.0.1", "dst", "10.0.0.2", "proto", "icmp", "dport", "1"}),
              HasSubstr("'dport' is for proto tcp"));
  EXPECT_THAT(build_refusal({"src", "10.0.0.1", "dst", "10.0.0.2", "flags", "S"}),
              HasSubstr("'flags' is for proto tcp"));
  EXPECT_THAT(build_refusal({"src", "10.0.0.1", "dst", "10.0.0.2", "proto", "tcp", "flags", "X"}),
              HasSubstr("FSRPAUEC"));
  EXPECT_THAT(build_refusal({"src", "10.0.0.1", "dst", "10.0.0.2", "length", "27"}), HasSubstr("of 28 at least"));
  EXPECT_THAT(build_refusal({"src", "10.0.0.1", "dst", "10.0.0.2", "offset", "9"}), HasSubstr("multiple of 8"));
  EXPECT_THAT(build_refusal({"dport", "80"}), HasSubstr("needs 'src' and 'dst'"));
  EXPECT_THAT(build_refusal({"vlan", "4096"}), HasSubstr("from 0 to 4095"));
  EXPECT_THAT(build_refusal({"dmac", "x"}), HasSubstr("a MAC address"));
}

TEST(FrameWords, AreAFrameInHexadecimalToo) {
  EXPECT_EQ(parse_hex("00ff:A1 2b"), (std::vector<std::uint8_t>{0x00, 0xFF, 0xA1, 0x2B}));
  for (const std::string& wrong : {std::string(), std::string("0"), std::string("0g"), std::string("-1"),
                                   std::string(2 * kLargestExplained + 2, '0')}) {
    EXPECT_THROW(parse_hex(wrong), std::invalid_argument) << wrong.substr(0, 8);
  }
}

}  // namespace
}  // namespace penumbra::runtime
