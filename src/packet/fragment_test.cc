// SPDX-License-Identifier: Apache-2.0
#include "packet/fragment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_ip.h>

#include <array>
#include <vector>

#include "base/random.h"
#include "packet/fragment_testing.h"

namespace penumbra {
namespace {

using namespace packet_testing;
using Fault = FragmentationFault;

constexpr std::size_t kAtIp = 14;
constexpr std::uint32_t kIdentification = 0xA1B2C3D4;

std::size_t get_word(const Bytes& bytes, std::size_t at) {
  return bytes.at(at) * 256U + bytes.at(at + 1);
}

class FragmentTest : public testing::Test {
 protected:
  ~FragmentTest() override { EXPECT_EQ(pool_.in_use(), 0U); }

  /// Returns the frames of the fragments. `room` is the most of them.
  std::vector<Bytes> fragment(const Bytes& frame, std::uint16_t mtu, std::size_t room = 4000,
                              std::size_t segment = SIZE_MAX) {
    rte_mbuf& packet = pool_.packet(frame, segment);
    const unsigned in_use = pool_.in_use();
    std::vector<rte_mbuf*> made(room);
    const FragmentationResult result =
        fragment_packet(packet, parse_headers(packet), mtu, kIdentification, *pool_, made);
    fault_ = result.fault;
    EXPECT_EQ(bytes_of(packet), frame);
    EXPECT_EQ(result.count > 0, result.fault == Fault::none);
    std::vector<Bytes> frames;
    for (std::size_t i = 0; i < result.count; ++i) {
      frames.push_back(bytes_of(*made[i]));
      rte_pktmbuf_free(made[i]);
    }
    EXPECT_EQ(pool_.in_use(), in_use);
    rte_pktmbuf_free(&packet);
    return frames;
  }
  Fault fault(const Bytes& frame, std::uint16_t mtu, std::size_t room = 4000) {
    fragment(frame, mtu, room);
    return fault_;
  }

  TestPool pool_{64, 2048};
  Fault fault_ = Fault::none;
};

TEST_F(FragmentTest, CutsIpv4AtMultiplesOfEight) {
  const Bytes payload = pattern(50);
  const std::vector<Bytes> frames = fragment(ethernet(0x0800, ipv4(17, payload)) + Bytes(6), 45);
  ASSERT_EQ(frames.size(), 3U);
  const Bytes expected[] = {ipv4_fragment(slice(payload, 0, 24), 0, kMore, 0),
                            ipv4_fragment(slice(payload, 24, 48), 24, kMore, 0),
                            ipv4_fragment(slice(payload, 48, 50), 48, 0, 0)};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rte_raw_cksum(frames[i].data() + kAtIp, 20), 0xFFFF);
    Bytes frame = frames[i];
    put_word(frame, kAtIp + 10, 0);
    EXPECT_EQ(frame, expected[i]);
  }
}

TEST_F(FragmentTest, LetsTheLastFragmentFillTheMtu) {
  EXPECT_EQ(fragment(ethernet(0x0800, ipv4(17, pattern(24 + 27))), 47).size(), 2U);
  EXPECT_EQ(fragment(ethernet(0x0800, ipv4(17, pattern(24 + 28))), 47).size(), 3U);
}

TEST_F(FragmentTest, CopiesOptionsWithTheCopiedFlag) {
  // No operation, record route (not copied), router alert (copied), stream identifier (copied), end.
  const Bytes alert{0x94, 4, 0, 0}, stream{0x88, 4, 1, 2}, route{0x07, 7, 4, 0, 0, 0, 0};
  const std::vector<Bytes> frames =
      fragment(ethernet(0x0800, ipv4(17, pattern(64), 0, Bytes{1} + route + alert + stream + Bytes(4))), 72);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0][kAtIp], 0x4A);
  EXPECT_EQ(slice(frames[0], kAtIp + 20, kAtIp + 40), Bytes{1} + route + alert + stream + Bytes(4));
  EXPECT_EQ(frames[0].size(), kAtIp + 40 + 32);
  EXPECT_EQ(frames[1][kAtIp], 0x47);
  EXPECT_EQ(slice(frames[1], kAtIp + 20, kAtIp + 28), alert + stream);
  EXPECT_EQ(slice(frames[1], kAtIp + 28, frames[1].size()), slice(pattern(64), 32, 64));
  EXPECT_EQ(rte_raw_cksum(frames[1].data() + kAtIp, 28), 0xFFFF);
}

TEST_F(FragmentTest, PadsCopiedOptions) {
  const std::vector<Bytes> frames =
      fragment(ethernet(0x0800, ipv4(17, pattern(64), 0, Bytes{0x89, 3, 4, 1, 1, 1, 1, 0})), 68);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[1][kAtIp], 0x46);
  EXPECT_EQ(slice(frames[1], kAtIp + 20, kAtIp + 24), (Bytes{0x89, 3, 4, 0}));
}

TEST_F(FragmentTest, RefusesOptionsOfWrongLength) {
  for (const Bytes& options :
       {Bytes{0x94, 1, 0, 0}, Bytes{0x94, 0, 0, 0}, Bytes{0x94, 5, 0, 0}, Bytes{1, 1, 1, 0x94}}) {
    EXPECT_EQ(fault(ethernet(0x0800, ipv4(17, pattern(64), 0, options)), 68), Fault::bad_options);
  }
  EXPECT_EQ(fault(ethernet(0x0800, ipv4(17, pattern(64), 0, Bytes{0, 0x94, 1, 0})), 68), Fault::none);
}

TEST_F(FragmentTest, FragmentsFragmentsOfIpv4) {
  const std::vector<Bytes> middle = fragment(ipv4_fragment(pattern(64), 800, kMore | kDontFragment), 60);
  ASSERT_EQ(middle.size(), 2U);
  EXPECT_EQ(get_word(middle[0], kAtIp + 6), kMore | kDontFragment | 100);
  EXPECT_EQ(get_word(middle[1], kAtIp + 6), kMore | kDontFragment | 105);
  const std::vector<Bytes> last = fragment(ipv4_fragment(pattern(50), 800, 0), 60);
  ASSERT_EQ(last.size(), 2U);
  EXPECT_EQ(get_word(last[1], kAtIp + 6), 105U);
  EXPECT_EQ(fault(ipv4_fragment(pattern(50), 800, kMore), 60), Fault::bad_header);
}

TEST_F(FragmentTest, InsertsTheFragmentHeaderOfIpv6) {
  const Bytes payload = udp(pattern(100));
  const std::vector<Bytes> frames = fragment(ethernet(0x86DD, ipv6(17, payload)) + Bytes(3), 100);
  ASSERT_EQ(frames.size(), 3U);
  Bytes header = fragment_header(17, 0, true);
  header[4] = 0xA1, header[5] = 0xB2, header[6] = 0xC3, header[7] = 0xD4;
  EXPECT_EQ(frames[0], ethernet(0x86DD, ipv6(44, header + slice(payload, 0, 48))));
  put_word(header, 2, 48 | 1);
  EXPECT_EQ(frames[1], ethernet(0x86DD, ipv6(44, header + slice(payload, 48, 96))));
  put_word(header, 2, 96);
  EXPECT_EQ(frames[2], ethernet(0x86DD, ipv6(44, header + slice(payload, 96, 108))));
}

/// Returns where the fragment header is, and its next header.
std::pair<std::size_t, std::uint8_t> fragment_header_of(const Bytes& frame) {
  std::uint8_t kind = frame.at(kAtIp + 6);
  std::size_t at = kAtIp + 40;
  while (kind != 44) {
    kind = frame.at(at);
    at += (frame.at(at + 1) + std::size_t{1}) * 8;
  }
  return {at - kAtIp - 40, frame.at(at)};
}

TEST_F(FragmentTest, RepeatsTheUnfragmentablePartOfIpv6) {
  const auto parts = [this](const Bytes& packet) {
    const std::vector<Bytes> frames = fragment(ethernet(0x86DD, packet), 160);
    EXPECT_EQ(frames.size(), 2U);
    for (const Bytes& frame : frames) EXPECT_EQ(fragment_header_of(frame), fragment_header_of(frames.at(0)));
    return fragment_header_of(frames.at(0));
  };
  using Place = std::pair<std::size_t, std::uint8_t>;
  const Bytes payload = udp(pattern(120));
  EXPECT_EQ(parts(ipv6(60, extension(17) + payload)), Place(0, 60));
  EXPECT_EQ(parts(ipv6(0, extension(60) + extension(17) + payload)), Place(8, 60));
  EXPECT_EQ(parts(ipv6(0, extension(60) + extension(43) + extension(60, 1) + extension(17) + payload)), Place(32, 60));
  EXPECT_EQ(parts(ipv6(43, extension(17, 1) + payload)), Place(16, 17));
  EXPECT_EQ(parts(ipv6(51, authentication(17) + payload)), Place(0, 51));
}

/// RFC 7112: all headers are in the first fragment.
TEST_F(FragmentTest, KeepsHeadersOfIpv6Together) {
  const Bytes packet = ethernet(0x86DD, ipv6(60, extension(6, 3) + tcp(Bytes(12)) + pattern(100)));
  EXPECT_EQ(fault(packet, 40 + 8 + 32 + 32), Fault::none);
  EXPECT_EQ(fault(packet, 40 + 8 + 32 + 31), Fault::small_mtu);
}

TEST_F(FragmentTest, NamesWhyItMakesNoFragments) {
  EXPECT_EQ(fault(ethernet(0x0800, ipv4(17, {})), 19), Fault::small_mtu);
  const Bytes four = ethernet(0x0800, ipv4(17, pattern(100))), six = ethernet(0x86DD, ipv6(17, udp(pattern(100))));
  EXPECT_EQ(fault(ethernet(0x0806, Bytes(100)), 50), Fault::no_ip);
  EXPECT_EQ(fault(four, 120), Fault::fits);
  EXPECT_EQ(fault(six, 148), Fault::fits);
  EXPECT_EQ(fault(four, 27), Fault::small_mtu);
  EXPECT_EQ(fault(four, 0), Fault::small_mtu);
  EXPECT_EQ(fault(six, 55), Fault::small_mtu);
  EXPECT_EQ(fault(six, 0), Fault::small_mtu);
  EXPECT_EQ(fault(four, 60, 2), Fault::too_many);
  EXPECT_EQ(fault(four, 60, 3), Fault::none);
  EXPECT_EQ(fault(four, 28, 0), Fault::too_many);
  EXPECT_EQ(fault(six, 60, 2), Fault::too_many);
  EXPECT_EQ(fault(ipv6_fragment(pattern(100), 0, true), 60), Fault::fragment);
  EXPECT_EQ(fault(ipv6_fragment(pattern(100), 0, false), 60), Fault::fragment);
  EXPECT_EQ(fault(slice(four, 0, 100), 60), Fault::bad_header);
  EXPECT_EQ(fault(slice(six, 0, 100), 60), Fault::bad_header);
}

TEST_F(FragmentTest, FreesItsMbufsIfThePoolIsEmpty) {
  // The pool has 64 mbufs. One is the packet's.
  EXPECT_EQ(fault(ethernet(0x0800, ipv4(17, pattern(std::size_t{63} * 8))), 28), Fault::none);
  EXPECT_EQ(fault(ethernet(0x0800, ipv4(17, pattern(std::size_t{64} * 8))), 28), Fault::no_mbuf);
}

TEST_F(FragmentTest, MakesChainsOfLongFragments) {
  const Bytes payload = pattern(9000);
  const std::vector<Bytes> frames = fragment(ethernet(0x0800, ipv4(17, payload)), 5000);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(slice(frames[0], 34, frames[0].size()) + slice(frames[1], 34, frames[1].size()), payload);
}

TEST_F(FragmentTest, CopiesMetadata) {
  rte_mbuf& packet = pool_.packet(ethernet(0x0800, ipv4(17, pattern(100))));
  packet.port = 3;
  packet.vlan_tci = 77;
  packet.ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_L4_CKSUM_GOOD |
                    RTE_MBUF_F_FIRST_FREE | kHeadersFlag | kJourneyFlag;
  packet.dynfield1[2] = 0xABCD;
  std::array<rte_mbuf*, 8> fragments{};
  const auto result = fragment_packet(packet, parse_headers(packet), 68, 0, *pool_, fragments);
  ASSERT_EQ(result.count, 3);
  for (std::size_t i = 0; i < result.count; ++i) {
    EXPECT_EQ(fragments[i]->port, 3);
    EXPECT_EQ(fragments[i]->vlan_tci, 77);
    EXPECT_EQ(fragments[i]->ol_flags, RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_FIRST_FREE);
    EXPECT_EQ(fragments[i]->dynfield1[2], 0xABCDU);
    rte_pktmbuf_free(fragments[i]);
  }
  rte_pktmbuf_free(&packet);
}

/// Fragments of any packet, in any order, make the packet again.
TEST_F(FragmentTest, IsUndoneByReassembly) {
  Random random(1);
  ReassemblyTester tester({.datagrams = 4}, 8192, 512);
  for (int round = 0; round < 3000; ++round) {
    const Bytes payload = udp(pattern(100 + random.below(1800), random.below(256)));
    const bool is_ipv4 = random.below(2) == 0;
    const Bytes options = random.below(2) == 0 ? Bytes{} : Bytes{0x94, 4, 0, 0, 1, 1, 0, 0};
    Bytes frame =
        is_ipv4 ? ethernet(0x0800, ipv4(17, payload, 0, options))
                : ethernet(0x86DD, random.below(2) == 0 ? ipv6(17, payload) : ipv6(0, extension(17, 2) + payload));
    if (random.below(4) == 0) frame = slice(frame, 0, 12) + word(0x8100) + word(5) + slice(frame, 12, frame.size());
    const auto mtu = static_cast<std::uint16_t>(100 + random.below(1400));
    std::vector<Bytes> frames = fragment(frame, mtu, 100, 100 + random.below(300));
    if (fault_ == Fault::fits) continue;
    ASSERT_EQ(fault_, Fault::none);
    for (std::size_t i = frames.size(); i > 1; --i)
      std::swap(frames[i - 1], frames[random.below(static_cast<std::uint32_t>(i))]);
    for (const Bytes& fragment : frames) {
      EXPECT_LE(fragment.size(), mtu + 18U);
      const auto added = tester.add(fragment, 1 + random.below(200));
      if (&fragment != &frames.back()) {
        ASSERT_TRUE(added.is_held());
        continue;
      }
      ASSERT_TRUE(added.is_completed());
      Bytes expected = frame;
      if (is_ipv4) {
        const std::size_t checksum = frame.size() - payload.size() - ipv4(17, {}, 0, options).size() + 10;
        put_word(expected, checksum, get_word(added.packet, checksum));
      }
      EXPECT_EQ(added.packet, expected);
    }
  }
}

TEST(FragmentationFault, HasNames) {
  EXPECT_EQ(to_string(Fault::none), "none");
  EXPECT_EQ(to_string(Fault::small_mtu), "small_mtu");
  EXPECT_EQ(to_string(Fault::no_mbuf), "no_mbuf");
}

}  // namespace
}  // namespace penumbra
