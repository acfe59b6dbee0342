// SPDX-License-Identifier: Apache-2.0
#include "penumbra/ip.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace penumbra {
namespace {

TEST(Ipv4Address, IsReadAndPrintedAsTheSystemDoes) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    // Few different bytes, so that 0, 255 and short ones come often.
    std::uint32_t value = 0;
    for (int byte = 0; byte < 4; ++byte) value = value << 8 | (random() % 3 == 0 ? random() % 256 : random() % 3 * 127);
    const in_addr system{htonl(value)};
    char text[INET_ADDRSTRLEN];
    ASSERT_NE(inet_ntop(AF_INET, &system, text, sizeof text), nullptr);
    ASSERT_EQ(to_string(Ipv4Address{value}), text);
    ASSERT_EQ(parse_ipv4_address(text), Ipv4Address{value}) << text;
  }
}

/// Texts around the edge of what is an address: a valid one with a byte changed, added or taken away. The system's
/// inet_pton() takes leading zeros from no one either, which makes it an oracle.
TEST(Ipv4Address, TakesWhatTheSystemTakesAndNothingElse) {
  std::mt19937 random(2);
  const std::string letters = "0123456789./ :-+x";
  int taken = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string text = to_string(Ipv4Address{static_cast<std::uint32_t>(random())});
    for (std::uint32_t edits = 1 + random() % 2; edits > 0; --edits) {
      const std::size_t at = random() % (text.size() + 1);
      const std::string letter(random() % 3 == 0 ? 0 : 1, letters[random() % letters.size()]);
      text.replace(at, random() % 2, letter);
    }
    in_addr system{};
    const bool valid = inet_pton(AF_INET, text.c_str(), &system) == 1;
    const auto address = parse_ipv4_address(text);
    ASSERT_EQ(address.has_value(), valid) << text;
    if (!address) continue;
    ++taken;
    ASSERT_EQ(address->value, ntohl(system.s_addr)) << text;
  }
  EXPECT_GT(taken, 5'000);
}

TEST(Ipv4Prefix, IsReadAsItIsPrinted) {
  std::mt19937 random(3);
  for (int i = 0; i < 5'000; ++i) {
    Ipv4Prefix prefix{{static_cast<std::uint32_t>(random())}, static_cast<std::uint8_t>(random() % 33)};
    prefix.address.value &= prefix.mask();
    ASSERT_EQ(parse_ipv4_prefix(to_string(prefix)), prefix) << to_string(prefix);
  }
  EXPECT_EQ(parse_ipv4_prefix("default"), (Ipv4Prefix{{0}, 0}));
  EXPECT_EQ(parse_ipv4_prefix("192.0.2.1"), (Ipv4Prefix{{0xC0000201}, 32}));
}

TEST(Ipv4Prefix, RefusesWhatIsNone) {
  for (const char* text :
       {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/8 ", " 10.0.0.0/8",
        "10.0.0.1/8", "128.0.0.0/0", "10.0.0.0//8", "10.0.0.0/8/8", "10/8", "Default", "0.0.0.0/4294967304", "::/0"}) {
    EXPECT_EQ(parse_ipv4_prefix(text), std::nullopt) << text;
  }
}

TEST(Ipv4Prefix, ContainsFromItsFirstAddressToItsLast) {
  for (std::uint32_t length = 0; length <= 32; ++length) {
    Ipv4Prefix prefix{{0xCB0071A5}, static_cast<std::uint8_t>(length)};
    prefix.address.value &= prefix.mask();
    EXPECT_EQ(std::uint64_t{prefix.last().value} - prefix.address.value + 1, std::uint64_t{1} << (32 - length));
    EXPECT_TRUE(prefix.contains(prefix.address));
    EXPECT_TRUE(prefix.contains(prefix.last()));
    if (length == 0) continue;
    EXPECT_FALSE(prefix.contains({prefix.address.value - 1}));
    EXPECT_FALSE(prefix.contains({prefix.last().value + 1}));
  }
}

TEST(MacAddress, IsReadAsItIsPrinted) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 5'000; ++i) {
    const MacAddress mac{random() >> 16};
    ASSERT_EQ(parse_mac_address(to_string(mac)), mac) << to_string(mac);
  }
  EXPECT_EQ(to_string(MacAddress{0x02000000ABCD}), "02:00:00:00:ab:cd");
  EXPECT_EQ(parse_mac_address("02:00:00:00:AB:cd"), MacAddress{0x02000000ABCD});
  EXPECT_TRUE(MacAddress{0x010000000000}.is_multicast());
  EXPECT_FALSE(MacAddress{0xFE0000000001}.is_multicast());
}

TEST(MacAddress, RefusesWhatIsNone) {
  for (const char* text : {"", ":", "02:00:00:00:00", "02:00:00:00:00:", "02:00:00:00:00:0", "02:00:00:00:00:001",
                           "02:00:00:00:00:01:02", "02-00-00-00-00-01", "2:0:0:0:0:1", "02:00:00:00:00:0g",
                           " 02:00:00:00:00:01", "02:00:00:00:00:01 ", "02:00:00:00:-1:01", "0x:00:00:00:00:01"}) {
    EXPECT_EQ(parse_mac_address(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace penumbra
