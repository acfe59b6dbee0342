// SPDX-License-Identifier: Apache-2.0
#include "penumbra/ip.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace penumbra {
namespace {

TEST(Ipv4Address, IsReadAndPrintedAsTheSystemDoes) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    // Few different bytes, so that 0, 255 and short numbers are frequent.
    std::uint32_t value = 0;
    for (int byte = 0; byte < 4; ++byte) value = value << 8 | (random() % 3 == 0 ? random() % 256 : random() % 3 * 127);
    const in_addr system{htonl(value)};
    char text[INET_ADDRSTRLEN];
    ASSERT_NE(inet_ntop(AF_INET, &system, text, sizeof text), nullptr);
    ASSERT_EQ(to_string(Ipv4Address{value}), text);
    ASSERT_EQ(parse_ipv4_address(text), Ipv4Address{value}) << text;
  }
}

/// Tests texts near the boundary of valid addresses: a valid address with a byte changed, added or removed. The
/// system's inet_pton() refuses leading zeros too, so it serves as the reference.
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

/// Implements RFC 5952, section 4, literally: no leading zeros, the longest run of at least two zeros, the first among
/// equals.
std::string written(Ipv6Address address) {
  std::vector<unsigned> words;
  for (const std::uint64_t half : {address.high, address.low}) {
    for (int shift = 48; shift >= 0; shift -= 16) words.push_back(half >> shift & 0xFFFF);
  }
  std::size_t best = 0, longest = 1;
  for (std::size_t begin = 0; begin < 8; ++begin) {
    std::size_t end = begin;
    while (end < 8 && words[end] == 0) ++end;
    if (end - begin > longest) best = begin, longest = end - begin;
  }
  std::ostringstream text;
  text << std::hex;
  for (std::size_t i = 0; i < 8; ++i) {
    if (longest > 1 && i == best) {
      text << "::";
      i += longest - 1;
    } else {
      text << (i == 0 || (longest > 1 && i == best + longest) ? "" : ":") << words[i];
    }
  }
  return text.str();
}

TEST(Ipv6Address, IsPrintedAsRfc5952WantsAndReadAsItIsPrinted) {
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    Ipv6Address address;
    for (int word = 0; word < 8; ++word) {
      const std::uint64_t value = random() % 2 == 0 ? 0 : random() >> (random() % 32);
      address.high = address.high << 16 | address.low >> 48;
      address.low = address.low << 16 | (value & 0xFFFF);
    }
    // ::a.b.c.d and ::ffff:a.b.c.d have another form (section 5).
    if (address.high == 0 && address.low >> 48 == 0) address.high = std::uint64_t{0x2001} << 48;
    ASSERT_EQ(to_string(address), written(address));
    ASSERT_EQ(parse_ipv6_address(to_string(address)), address) << to_string(address);
  }
  EXPECT_EQ(to_string(Ipv6Address{}), "::");
  EXPECT_EQ(to_string(Ipv6Address{0, 1}), "::1");
  EXPECT_EQ(to_string(Ipv6Address{0, 0xFFFFC0000201}), "::ffff:192.0.2.1");
  EXPECT_EQ(parse_ipv6_address("2001:DB8:0:0:1::1"), (Ipv6Address{0x20010DB800000000, 0x0001000000000001}));
}

TEST(Ipv6Address, RefusesWhatIsNone) {
  for (const std::string& text :
       {std::string(), std::string(":"), std::string("1"), std::string("1:2:3:4:5:6:7"), std::string("1::2::3"),
        std::string("::12345"), std::string("fe80::1%eth0"), std::string("192.0.2.1"), std::string("[::1]"),
        std::string(" ::1"), std::string("::1\0", 4), std::string(100, ':')}) {
    EXPECT_EQ(parse_ipv6_address(text), std::nullopt) << text;
  }
}

TEST(Ipv6Prefix, ContainsWhatSharesItsBits) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 20'000; ++i) {
    Ipv6Prefix prefix{{random(), random()}, static_cast<std::uint8_t>(random() % 129)};
    const Ipv6Address whole = prefix.address;
    prefix.address = {whole.high & prefix.mask().high, whole.low & prefix.mask().low};
    ASSERT_EQ(parse_ipv6_prefix(to_string(prefix)), prefix) << to_string(prefix);
    ASSERT_TRUE(prefix.contains(whole));
    const unsigned bit = random() % 128;
    Ipv6Address other = whole;
    (bit < 64 ? other.high : other.low) ^= std::uint64_t{1} << (63 - bit % 64);
    ASSERT_EQ(prefix.contains(other), bit >= prefix.length) << to_string(prefix) << " " << bit;
  }
  EXPECT_EQ(parse_ipv6_prefix("2001:db8::1"), (Ipv6Prefix{{0x20010DB800000000, 1}, 128}));
  for (const char* text : {"", "::/129", "::/", "::1/64", "2001:db8::/28", "::/-1", "::/0 ", "10.0.0.0/8"}) {
    EXPECT_EQ(parse_ipv6_prefix(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_ipv6_prefix("default"), Ipv6Prefix{});
}

TEST(Ipv6Prefix, IsAroundItsFirstAndLastAddress) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const Ipv6Address inside{random(), random()};
    const auto length = static_cast<std::uint8_t>(random() % 129);
    const Ipv6Prefix prefix = Ipv6Prefix::around(inside, length);
    ASSERT_TRUE(prefix.contains(inside));
    ASSERT_EQ(parse_ipv6_prefix(to_string(prefix)), prefix);
    ASSERT_EQ(Ipv6Prefix::around(prefix.last(), length), prefix);
    ASSERT_LE(inside, prefix.last());
    if (prefix.last() == Ipv6Address{~std::uint64_t{0}, ~std::uint64_t{0}}) continue;
    const Ipv6Address last = prefix.last();
    ASSERT_FALSE(prefix.contains({last.high + (last.low + 1 == 0 ? 1 : 0), last.low + 1}));
  }
}

TEST(Ipv6Address, KnowsItsKind) {
  const auto address = [](const char* text) { return parse_ipv6_address(text).value(); };
  for (const char* text :
       {"2001:db8::1", "fc00::1", "fe80::1", "febf::1", "::2", "::1:0:0:1", "64:ff9b::1", "fec0::1"}) {
    EXPECT_TRUE(address(text).is_unicast()) << text;
  }
  for (const char* text : {"::", "::1", "ff00::", "ff02::1", "ffff::", "::ffff:0:0", "::ffff:192.0.2.1"}) {
    EXPECT_FALSE(address(text).is_unicast()) << text;
  }
  for (const char* text : {"fe80::", "fe80::1", "febf:ffff::1"}) EXPECT_TRUE(address(text).is_link_local()) << text;
  for (const char* text : {"fe7f::1", "fec0::1", "::", "ff02::1"}) EXPECT_FALSE(address(text).is_link_local()) << text;
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
