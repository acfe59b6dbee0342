// SPDX-License-Identifier: Apache-2.0
#include "base/packet_fields.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace penumbra::packet_fields {
namespace {

TEST(PacketFields, OccupyBitsOfTheirOwn) {
  SparseWords seen{};
  for (std::size_t i = 0; i < kFields; ++i) {
    SparseWords bits{};
    set(bits, static_cast<Field>(i), all_bits(kPlaces[i].bits));
    for (std::size_t word = 0; word < bits.size(); ++word) {
      EXPECT_EQ(bits[word] & seen[word], 0U) << kPlaces[i].name;
      seen[word] |= bits[word];
    }
  }
  EXPECT_EQ(seen, field_bits());
}

TEST(PacketFields, AreReadAsTheyAreWritten) {
  Random random(2);
  for (int round = 0; round < 5'000; ++round) {
    const auto field = static_cast<Field>(random.below(kFields));
    const Number all = all_bits(place_of(field).bits);
    Number mask{random.next() & all.high, random.next() & all.low};
    if (random.below(2) == 0) mask = all;
    const Number value{random.next() & mask.high, random.next() & mask.low};
    const std::string text = field_text(field, value, mask);
    const auto read = parse_field(field, text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->value, value) << text;
    EXPECT_EQ(read->mask, mask) << text;
  }
}

TEST(PacketFields, HaveTheTextOfOpenVSwitch) {
  const auto text = [](Field field, const char* from) {
    const auto read = parse_field(field, from);
    return read ? field_text(field, read->value, read->mask) : "wrong";
  };
  EXPECT_EQ(text(Field::nw_src, "10.1.2.3/8"), "10.0.0.0/8");
  EXPECT_EQ(text(Field::nw_src, "10.1.2.3/255.0.255.0"), "10.0.2.0/255.0.255.0");
  EXPECT_EQ(text(Field::ipv6_dst, "2001:db8::1/64"), "2001:db8::/64");
  EXPECT_EQ(text(Field::eth_dst, "01:00:00:00:00:00/01:00:00:00:00:00"), "01:00:00:00:00:00/01:00:00:00:00:00");
  EXPECT_EQ(text(Field::nw_proto, "0x11"), "17");
  for (const char* wrong : {"", "256", "-1", "1/", "1/256", "0x", "6x"}) {
    EXPECT_FALSE(parse_field(Field::nw_proto, wrong)) << wrong;
  }
  EXPECT_FALSE(parse_field(Field::nw_src, "10.0.0.0/33"));
  EXPECT_FALSE(parse_field(Field::ipv6_src, "10.0.0.1"));
}

/// A match of some bits matches several ports.
TEST(PacketFields, HaveAReceivePortIfAllItsBitsAreMatched) {
  SparseMatch match;
  EXPECT_EQ(in_port_of(match), 0);
  set(match.value, Field::in_port, {0, 5});
  set(match.mask, Field::in_port, {0, 7});
  EXPECT_EQ(in_port_of(match), 0);
  set(match.mask, Field::in_port, {0, 0xFFFF});
  EXPECT_EQ(in_port_of(match), 5);
}

}  // namespace
}  // namespace penumbra::packet_fields
