// SPDX-License-Identifier: Apache-2.0
#include "packet/edits.h"

#include <gtest/gtest.h>

#include "packet/checksum.h"
#include "packet/mbuf_edits.h"
#include "packet/testing.h"

namespace penumbra {
namespace {

using namespace packet_testing;

TEST(Edits, MacAddressesAreReadAsTheyAreWritten) {
  Bytes bytes(8, 0xEE);
  store_mac(&bytes[1], {0x020304050607});
  EXPECT_EQ(bytes, (Bytes{0xEE, 2, 3, 4, 5, 6, 7, 0xEE}));
  EXPECT_EQ(mac_at(&bytes[1]), MacAddress{0x020304050607});
}

TEST(Edits, ADecrementedTtlHasARightChecksum) {
  for (unsigned identification = 0; identification < 0x10000; identification += 7) {
    Bytes header = ipv4(17, {});
    put_word(header, 4, identification);
    header[8] = static_cast<std::uint8_t>(1 + identification % 255);
    write_ipv4_checksum(header.data());
    Bytes wanted = header;
    wanted[8] -= 1;
    write_ipv4_checksum(wanted.data());
    decrement_ttl(header.data());
    ASSERT_EQ(header, wanted) << identification;
  }
}

TEST(Edits, AHopLimitIsDecrementedAlone) {
  Bytes header = ipv6(17, {}), wanted = header;
  wanted[7] = 63;
  decrement_hop_limit(header.data());
  EXPECT_EQ(header, wanted);
}

/// A packet in a buffer with headroom.
class Buffer {
 public:
  Buffer(const Bytes& frame, std::uint16_t headroom) : bytes_(Bytes(headroom) + frame) {
    packet_.buf_addr = bytes_.data();
    packet_.buf_len = static_cast<std::uint16_t>(bytes_.size());
    packet_.data_off = headroom;
    packet_.data_len = static_cast<std::uint16_t>(frame.size());
    packet_.pkt_len = packet_.data_len;
    packet_.nb_segs = 1;
  }
  rte_mbuf& packet() { return packet_; }
  Bytes frame() const {
    const auto* const begin = rte_pktmbuf_mtod(&packet_, const std::uint8_t*);
    EXPECT_EQ(packet_.pkt_len, packet_.data_len);
    return {begin, begin + packet_.data_len};
  }

 private:
  Bytes bytes_;
  rte_mbuf packet_{};
};

TEST(Edits, ATagIsAddedOutsideAndRemoved) {
  const Bytes plain = ethernet(0x0800, ipv4(17, udp()));
  Buffer buffer(plain, 8);
  ASSERT_TRUE(push_tag(buffer.packet(), 0x8100, 0x2007));
  const Bytes tagged = ethernet(0x8100, tag(0x2007, 0x0800, ipv4(17, udp())));
  EXPECT_EQ(buffer.frame(), tagged);
  ASSERT_TRUE(push_tag(buffer.packet(), 0x88A8, 9));
  EXPECT_EQ(buffer.frame(), ethernet(0x88A8, tag(9, 0x8100, tag(0x2007, 0x0800, ipv4(17, udp())))));
  EXPECT_FALSE(push_tag(buffer.packet(), 0x8100, 1)) << "no headroom is left";
  pop_tag(buffer.packet());
  EXPECT_EQ(buffer.frame(), tagged);
  pop_tag(buffer.packet());
  EXPECT_EQ(buffer.frame(), plain);
}

}  // namespace
}  // namespace penumbra
