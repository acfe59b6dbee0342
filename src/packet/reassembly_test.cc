// SPDX-License-Identifier: Apache-2.0
#include "packet/reassembly.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_ip.h>

#include <string>

#include "packet/fragment_testing.h"

namespace penumbra {
namespace {

using namespace packet_testing;
using testing::ElementsAre;
using testing::IsEmpty;
using Reason = ReassemblyReason;

constexpr std::size_t kIp = 14;  ///< Offset of the IP header in untagged frames.

Bytes payload_of(const Bytes& frame) {
  return slice(frame, kIp + (frame[kIp] & std::size_t{0xF}) * 4, frame.size());
}
std::size_t word_at(const Bytes& bytes, std::size_t at) {
  return bytes.at(at) * 256U + bytes.at(at + 1);
}

TEST(Reassembly, CompletesADatagramInAnyOrder) {
  const Bytes whole = pattern(40);
  const Bytes frames[] = {ipv4_fragment(slice(whole, 0, 16), 0, kMore), ipv4_fragment(slice(whole, 16, 32), 16, kMore),
                          ipv4_fragment(slice(whole, 32, 40), 32, 0)};
  std::array<int, 3> order{0, 1, 2};
  do {
    ReassemblyTester tester;
    EXPECT_TRUE(tester.add(frames[order[0]]).is_held());
    EXPECT_TRUE(tester.add(frames[order[1]]).is_held());
    EXPECT_EQ(tester->held(), 2U);
    EXPECT_EQ(tester->datagrams(), 1U);
    const auto last = tester.add(frames[order[2]]);
    ASSERT_TRUE(last.is_completed());
    EXPECT_EQ(last.packet, [&] {
      Bytes expected = ethernet(0x0800, ipv4(17, whole));
      put_word(expected, kIp + 4, 1);
      put_word(expected, kIp + 10, word_at(last.packet, kIp + 10));
      return expected;
    }());
    EXPECT_EQ(rte_raw_cksum(last.packet.data() + kIp, 20), 0xFFFF);
    EXPECT_EQ(last.result.fragments, 3);
    EXPECT_EQ(last.result.largest, 36);
    EXPECT_FALSE(last.result.had_overlap);
  } while (std::ranges::next_permutation(order).found);
}

TEST(Reassembly, LeavesPayloadWhereItIs) {
  ReassemblyTester tester;
  rte_mbuf& first = tester.pool().packet(ipv4_fragment(pattern(16), 0, kMore));
  rte_mbuf& second = tester.pool().packet(ipv4_fragment(pattern(8), 16, 0) + Bytes(10));  // with padding
  const auto no_one = [](rte_mbuf*, Reason) { FAIL(); };
  EXPECT_EQ(tester->add(first, parse_headers(first), 0, OverlapPolicy::first, no_one).kind,
            ReassemblyResult::Kind::held);
  const auto last = tester->add(second, parse_headers(second), 0, OverlapPolicy::first, no_one);
  ASSERT_EQ(last.packet, &first);
  EXPECT_EQ(first.next, &second);
  EXPECT_EQ(first.data_len, 14 + 20 + 16);
  EXPECT_EQ(second.data_len, 8);
  EXPECT_EQ(first.nb_segs, 2);
  rte_pktmbuf_free(&first);
}

TEST(Reassembly, JoinsChains) {
  const Bytes whole = pattern(48);
  for (const std::size_t segment : {1, 3, 7, 20, 34, 41}) {
    ReassemblyTester tester;
    EXPECT_TRUE(tester.add(ipv4_fragment(slice(whole, 24, 48), 24, 0) + Bytes(9), segment).is_held());
    const auto last = tester.add(ipv4_fragment(slice(whole, 0, 24), 0, kMore), segment);
    ASSERT_TRUE(last.is_completed());
    EXPECT_EQ(payload_of(last.packet), whole);
    EXPECT_EQ(rte_raw_cksum(last.packet.data() + kIp, 20), 0xFFFF);
  }
}

TEST(Reassembly, TakesLinkAndOptionsOfTheFirstFragment) {
  const Bytes options{0x82, 0x04, 1, 2, 0x07, 0x03, 4, 0};
  const auto tagged = [&](const Bytes& packet) { return ethernet(0x8100, tag(0x6005, 0x0800, packet)); };
  ReassemblyTester tester;
  EXPECT_TRUE(tester.add(tagged(ipv4(17, pattern(8, 1), 1))).is_held());
  const auto last = tester.add(tagged(ipv4(17, pattern(8), kMore, options)));
  ASSERT_TRUE(last.is_completed());
  Bytes expected = tagged(ipv4(17, pattern(8) + pattern(8, 1), 0, options));
  put_word(expected, 18 + 10, word_at(last.packet, 18 + 10));
  EXPECT_EQ(last.packet, expected);
  EXPECT_EQ(rte_raw_cksum(last.packet.data() + 18, 28), 0xFFFF);
}

TEST(Reassembly, SeparatesDatagrams) {
  const Bytes base = ipv4_fragment(pattern(8), 0, kMore);
  const auto changed = [&](std::size_t at) {
    Bytes frame = ipv4_fragment(pattern(8), 8, 0);
    frame.at(at) ^= 1;
    return frame;
  };
  const auto tagged = [](std::size_t outer, std::size_t inner, std::size_t fragment) {
    return ethernet(0x88A8, tag(outer, 0x8100, tag(inner, 0x0800, ipv4(17, pattern(8), fragment))));
  };
  ReassemblyTester tester;
  EXPECT_TRUE(tester.add(base).is_held());
  for (const std::size_t at : {kIp + 4, kIp + 5, kIp + 9, kIp + 12, kIp + 15, kIp + 16, kIp + 19}) {
    EXPECT_TRUE(tester.add(changed(at)).is_held()) << at;
  }
  EXPECT_TRUE(tester.add(tagged(1, 2, kMore)).is_held());
  EXPECT_TRUE(tester.add(tagged(1, 3, 1)).is_held());
  EXPECT_TRUE(tester.add(tagged(2, 2, 1)).is_held());
  EXPECT_TRUE(tester.add(tagged(0x3001, 0x2002, 1)).is_completed());  // another priority
  EXPECT_TRUE(tester.add(changed(0)).is_completed());                 // another MAC address
}

TEST(Reassembly, SeparatesTheFamilies) {
  // The addresses and the protocol of an IPv4 datagram, as bytes of IPv6 addresses.
  Bytes six = ipv6_fragment(pattern(8), 0, true, 1);
  std::fill_n(six.begin() + kIp + 8, 32, 0);
  const Bytes addresses{10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 17};
  std::ranges::copy(addresses, six.begin() + kIp + 8);
  ReassemblyTester tester;
  EXPECT_TRUE(tester.add(six).is_held());
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 8, 0)).is_held());
  EXPECT_EQ(tester->datagrams(), 2U);
}

TEST(Reassembly, RemovesTheFragmentHeaderOfIpv6) {
  const Bytes options = extension(43), routing = extension(44, 1);
  const Bytes whole = udp(pattern(24));
  const auto fragment = [&](std::size_t begin, std::size_t end, bool more, std::uint8_t next_header) {
    return ethernet(0x86DD,
                    ipv6(60, options + routing + fragment_header(next_header, begin, more) + slice(whole, begin, end)));
  };
  for (const std::size_t segment : {std::size_t{5}, std::size_t{60}, std::size_t{2000}}) {
    ReassemblyTester tester;
    EXPECT_TRUE(tester.add(fragment(16, 32, false, 6), segment).is_held());  // later next headers do not count
    const auto last = tester.add(fragment(0, 16, true, 17), segment);
    ASSERT_TRUE(last.is_completed());
    EXPECT_EQ(last.packet, ethernet(0x86DD, ipv6(60, options + extension(17, 1) + whole)));
    EXPECT_EQ(last.result.fragments, 2);
  }
}

/// RFC 6946: such a packet is independent of fragments with the same identification.
TEST(Reassembly, CompletesAtomicFragmentsAtOnce) {
  ReassemblyTester tester;
  EXPECT_TRUE(tester.add(ipv6_fragment(pattern(8), 0, true)).is_held());
  const auto atomic = tester.add(ipv6_fragment(pattern(13), 0, false) + Bytes(4));
  ASSERT_TRUE(atomic.is_completed());
  EXPECT_EQ(atomic.packet, ethernet(0x86DD, ipv6(59, pattern(13))));
  EXPECT_EQ(atomic.result.fragments, 1);
  EXPECT_EQ(tester->held(), 1U);
  EXPECT_TRUE(tester.add(ipv6_fragment(pattern(8), 8, false)).is_completed());
}

TEST(Reassembly, RefusesWhatIsNoFragment) {
  ReassemblyTester tester;
  EXPECT_EQ(tester.add(ethernet(0x0800, ipv4(17, udp()))).reason(), Reason::no_fragment);
  EXPECT_EQ(tester.add(ethernet(0x0800, ipv4(17, udp(), kDontFragment))).reason(), Reason::no_fragment);
  EXPECT_EQ(tester.add(ethernet(0x86DD, ipv6(17, udp()))).reason(), Reason::no_fragment);
  EXPECT_EQ(tester.add(ethernet(0x0806, Bytes(46))).reason(), Reason::no_fragment);
  EXPECT_EQ(tester.add(Bytes(5)).reason(), Reason::no_fragment);
}

TEST(Reassembly, RefusesCutPackets) {
  const Bytes four = ipv4_fragment(pattern(8), 0, kMore), six = ipv6_fragment(pattern(8), 0, true);
  ReassemblyTester tester;
  for (const Bytes& frame : {four, six}) {
    for (std::size_t size = 15; size < frame.size(); ++size) {
      const Reason reason = tester.add(slice(frame, 0, size)).reason();
      EXPECT_TRUE(reason == Reason::bad_header || reason == Reason::no_fragment) << size;
    }
  }
  Bytes short_header = four;
  short_header[kIp] = 0x44;
  EXPECT_EQ(tester.add(short_header).reason(), Reason::bad_header);
  Bytes short_length = four;
  put_word(short_length, kIp + 2, 19);
  EXPECT_EQ(tester.add(short_length).reason(), Reason::bad_header);
  EXPECT_EQ(tester->datagrams(), 0U);
}

TEST(Reassembly, RefusesLengthsThatAreNoMultipleOfEight) {
  ReassemblyTester tester;
  EXPECT_EQ(tester.add(ipv4_fragment(pattern(12), 0, kMore)).reason(), Reason::bad_length);
  EXPECT_EQ(tester.add(ipv4_fragment({}, 8, kMore)).reason(), Reason::bad_length);
  EXPECT_EQ(tester.add(ipv4_fragment({}, 8, 0)).reason(), Reason::bad_length);
  EXPECT_EQ(tester.add(ipv6_fragment(pattern(12), 0, true)).reason(), Reason::bad_length);
  EXPECT_EQ(tester->datagrams(), 0U);
}

/// Linux uses the multiple of 8 that such a fragment has.
TEST(Reassembly, RoundsLengthsDownAsLinux) {
  ReassemblyTester tester;
  tester.policy = OverlapPolicy::linux_old;
  EXPECT_EQ(tester.add(ipv4_fragment(pattern(7), 0, kMore)).reason(), Reason::bad_length);
  EXPECT_EQ(tester.add(ipv6_fragment(pattern(12), 0, true)).reason(), Reason::bad_length);
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(12), 0, kMore)).is_held());
  const auto last = tester.add(ipv4_fragment(pattern(5, 1), 8, 0));
  ASSERT_TRUE(last.is_completed());
  EXPECT_EQ(payload_of(last.packet), pattern(8) + pattern(5, 1));
}

TEST(Reassembly, RefusesTinyFragmentsOnlyIfAsked) {
  ReassemblyTester tester({.least_payload = 24});
  EXPECT_EQ(tester.add(ipv4_fragment(pattern(16), 0, kMore)).reason(), Reason::tiny);
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(24), 0, kMore)).is_held());
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 24, 0)).is_completed());
  ReassemblyTester permissive;
  EXPECT_TRUE(permissive.add(ipv4_fragment(slice(tcp(), 0, 8), 0, kMore, 1, 6)).is_held());
  EXPECT_TRUE(permissive.add(ipv4_fragment(slice(tcp(), 8, 20), 8, 0, 1, 6)).is_completed());
}

/// RFC 7112: a first fragment has all headers.
TEST(Reassembly, RefusesIpv6HeadersInLaterFragments) {
  ReassemblyTester tester;
  EXPECT_EQ(tester.add(ipv6_fragment(slice(tcp(), 0, 16), 0, true, 9, 6)).reason(), Reason::header_chain_cut);
  EXPECT_TRUE(tester.add(ipv6_fragment(tcp() + Bytes(4), 0, true, 9, 6)).is_held());
}

/// The "ping of death": fragments whose end exceeds the longest datagram.
TEST(Reassembly, RefusesFragmentsBeyondTheLongestDatagram) {
  ReassemblyTester tester;
  EXPECT_EQ(tester.add(ipv4_fragment(pattern(8), 65528, 0)).reason(), Reason::beyond_65535);
  EXPECT_EQ(tester.add(ipv4_fragment(pattern(1000), 65528, kMore)).reason(), Reason::beyond_65535);
  EXPECT_EQ(tester.add(ipv6_fragment(pattern(8), 65528, false)).reason(), Reason::beyond_65535);
  EXPECT_EQ(tester->datagrams(), 0U);
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(3), 65512, 0)).is_held());
  EXPECT_TRUE(tester.add(ipv6_fragment(pattern(7), 65528, false)).is_held());
}

/// The bytes fit, but not with the header of the first fragment.
TEST(Reassembly, DropsDatagramsThatExceedTheLengthField) {
  for (const bool is_ipv4 : {true, false}) {
    ReassemblyTester tester({}, 128, 40000);
    const std::size_t half = 32768, rest = is_ipv4 ? 65515 - half : 65535 - half;
    const Bytes first = is_ipv4
                            ? ethernet(0x0800, ipv4(17, pattern(half), kMore, Bytes(4)))
                            : ethernet(0x86DD, ipv6(0, extension(44) + fragment_header(59, 0, true) + pattern(half)));
    EXPECT_TRUE(tester.add(first).is_held());
    const Bytes last = is_ipv4 ? ethernet(0x0800, ipv4(17, pattern(rest), half / 8))
                               : ethernet(0x86DD, ipv6(44, fragment_header(59, half, false) + pattern(rest)));
    EXPECT_EQ(tester.add(last).reason(), Reason::too_long);
    EXPECT_THAT(tester.take_reasons(), ElementsAre(Reason::too_long));
  }
}

TEST(Reassembly, CompletesTheLongestDatagrams) {
  ReassemblyTester tester({}, 128, 40000);
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(32768), 0, kMore)).is_held());
  EXPECT_EQ(tester.add(ipv4_fragment(pattern(32747), 32768, 0)).packet.size(), 14U + 65535);
  EXPECT_TRUE(tester.add(ipv6_fragment(pattern(32768), 0, true)).is_held());
  EXPECT_EQ(tester.add(ipv6_fragment(pattern(32767), 32768, false)).packet.size(), 14U + 40 + 65535);
}

TEST(Reassembly, RefusesDuplicates) {
  for (const auto policy : {OverlapPolicy::first, OverlapPolicy::last, OverlapPolicy::linux_old, OverlapPolicy::drop}) {
    ReassemblyTester tester;
    tester.policy = policy;
    EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 0, kMore)).is_held());
    EXPECT_EQ(tester.add(ipv4_fragment(pattern(8), 0, kMore)).reason(), Reason::duplicate);
    EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 16, 0)).is_held());
    EXPECT_EQ(tester.add(ipv4_fragment(pattern(8), 16, 0)).reason(), Reason::duplicate);
    const auto last = tester.add(ipv4_fragment(pattern(8), 8, kMore));
    ASSERT_TRUE(last.is_completed());
    EXPECT_TRUE(last.result.had_overlap);
    EXPECT_FALSE(last.result.had_conflict);
    EXPECT_EQ(last.result.fragments, 3);
    EXPECT_THAT(tester.take_reasons(), IsEmpty());
  }
}

TEST(Reassembly, TellsOfConflicts) {
  ReassemblyTester tester;
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(16), 0, kMore)).is_held());
  const auto last = tester.add(ipv4_fragment(pattern(16, 5), 8, 0));
  ASSERT_TRUE(last.is_completed());
  EXPECT_TRUE(last.result.had_conflict);
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(24), 0, kMore)).is_held());
  const auto agreeing = tester.add(ipv4_fragment(slice(pattern(40), 16, 40), 16, 0));
  ASSERT_TRUE(agreeing.is_completed());
  EXPECT_TRUE(agreeing.result.had_overlap);
  EXPECT_FALSE(agreeing.result.had_conflict);
}

TEST(Reassembly, HandsBackFragmentsThatLoseAllBytes) {
  ReassemblyTester tester;
  tester.policy = OverlapPolicy::last;
  const Bytes lost = ipv4_fragment(pattern(8, 1), 8, kMore);
  EXPECT_TRUE(tester.add(lost).is_held());
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(24, 2), 0, kMore)).is_held());
  EXPECT_THAT(tester.take_handed_back(), ElementsAre(ReassemblyTester::HandedBack{lost, Reason::overlapped}));
  tester.policy = OverlapPolicy::first;
  EXPECT_EQ(tester.add(lost).reason(), Reason::overlapped);
}

/// RFC 5722: the datagram goes with fragments that have not arrived yet.
TEST(Reassembly, DropsIpv6DatagramsWithOverlaps) {
  ReassemblyTester tester({.timeout = 100});
  const Bytes first = ipv6_fragment(pattern(16), 0, true);
  EXPECT_TRUE(tester.add(first).is_held());
  EXPECT_TRUE(tester.add(ipv6_fragment(pattern(8), 24, false)).is_held());
  tester.now = 50;
  EXPECT_EQ(tester.add(ipv6_fragment(pattern(16), 8, true)).reason(), Reason::overlap);
  EXPECT_THAT(tester.take_reasons(), ElementsAre(Reason::overlap, Reason::overlap));
  EXPECT_EQ(tester.add(first).reason(), Reason::overlap);
  EXPECT_EQ(tester->datagrams(), 1U);
  tester.now = 150;
  tester.expire();
  EXPECT_EQ(tester->datagrams(), 0U);
  EXPECT_TRUE(tester.add(first).is_held());
}

/// Fragments of IPv6 from a report (Suricata, issue 6400): the third overlaps with the last one.
TEST(Reassembly, FindsAnOverlapWithTheLastFragment) {
  ReassemblyTester tester;
  EXPECT_TRUE(tester.add(ipv6_fragment(pattern(408), 0, true)).is_held());
  EXPECT_TRUE(tester.add(ipv6_fragment(pattern(400), 808, false)).is_held());
  EXPECT_EQ(tester.add(ipv6_fragment(pattern(528), 408, true)).reason(), Reason::overlap);
}

/// RFC 8200 permits duplicates. Hosts do not compare their bytes.
TEST(Reassembly, IgnoresIpv6Duplicates) {
  ReassemblyTester tester;
  EXPECT_TRUE(tester.add(ipv6_fragment(pattern(16), 0, true)).is_held());
  EXPECT_EQ(tester.add(ipv6_fragment(pattern(16, 3), 0, true)).reason(), Reason::duplicate);
  const auto last = tester.add(ipv6_fragment(pattern(8), 16, false));
  ASSERT_TRUE(last.is_completed());
  EXPECT_EQ(slice(last.packet, 54, 70), pattern(16));
  EXPECT_TRUE(last.result.had_conflict);
}

TEST(Reassembly, DropsDatagramsWithTwoEnds) {
  const auto two = [](const Bytes& first, const Bytes& second) {
    ReassemblyTester tester;
    EXPECT_TRUE(tester.add(first).is_held());
    EXPECT_EQ(tester.add(second).reason(), Reason::end_conflict);
    EXPECT_THAT(tester.take_reasons(), ElementsAre(Reason::end_conflict));
    EXPECT_EQ(tester.add(first).reason(), Reason::end_conflict);
  };
  two(ipv4_fragment(pattern(8), 16, 0), ipv4_fragment(pattern(16), 16, 0));     // a longer last fragment
  two(ipv4_fragment(pattern(16), 16, 0), ipv4_fragment(pattern(8), 16, 0));     // a shorter one
  two(ipv4_fragment(pattern(8), 16, 0), ipv4_fragment(pattern(8), 24, kMore));  // bytes after the end
  two(ipv4_fragment(pattern(8), 24, kMore), ipv4_fragment(pattern(8), 16, 0));  // an end before known bytes
  two(ipv6_fragment(pattern(8), 16, false), ipv6_fragment(pattern(9), 16, false));
}

/// RFC 3168, section 5.3.
TEST(Reassembly, KeepsCongestionMarks) {
  constexpr std::uint8_t kNotCapable = 0, kCapable = 2, kCongestion = 3;
  const auto ecn = [](Bytes frame, std::uint8_t mark) {
    frame[kIp + 1] |= frame[kIp] >> 4 == 4 ? mark : static_cast<std::uint8_t>(mark << 4);
    return frame;
  };
  const auto join = [&](bool is_ipv4, std::uint8_t first, std::uint8_t second) {
    ReassemblyTester tester;
    if (is_ipv4) {
      tester.add(ecn(ipv4_fragment(pattern(8), 0, kMore), first));
      return tester.add(ecn(ipv4_fragment(pattern(8), 8, 0), second));
    }
    tester.add(ecn(ipv6_fragment(pattern(8), 0, true), first));
    return tester.add(ecn(ipv6_fragment(pattern(8), 8, false), second));
  };
  for (const bool is_ipv4 : {true, false}) {
    const auto mark = [&](const Bytes& frame) { return (is_ipv4 ? frame.at(kIp + 1) : frame.at(kIp + 1) >> 4) & 3; };
    EXPECT_EQ(mark(join(is_ipv4, kCapable, kCongestion).packet), kCongestion);
    EXPECT_EQ(mark(join(is_ipv4, kCongestion, kCapable).packet), kCongestion);
    EXPECT_EQ(mark(join(is_ipv4, kCapable, kCapable).packet), kCapable);
    EXPECT_EQ(join(is_ipv4, kNotCapable, kCongestion).reason(), Reason::ecn_conflict);
    EXPECT_EQ(join(is_ipv4, kCongestion, kNotCapable).reason(), Reason::ecn_conflict);
  }
}

/// Linux sets DF if the largest fragment has it, and limits fragments on the way out to the largest one's size.
TEST(Reassembly, KeepsDontFragmentAsLinux) {
  const auto join = [](std::size_t first, std::size_t second) {
    ReassemblyTester tester;
    tester.add(ipv4_fragment(pattern(16), 0, kMore | first));
    const auto last = tester.add(ipv4_fragment(pattern(8), 16, second));
    EXPECT_EQ(last.result.largest, 36);
    return word_at(last.packet, kIp + 6);
  };
  EXPECT_EQ(join(kDontFragment, kDontFragment), kDontFragment);
  EXPECT_EQ(join(kDontFragment, 0), kDontFragment);
  EXPECT_EQ(join(0, kDontFragment), 0U);
  EXPECT_EQ(join(0, 0), 0U);
}

TEST(Reassembly, ForgetsWhatTheDeviceAndTheParserFoundOut) {
  ReassemblyTester tester;
  rte_mbuf& first = tester.pool().packet(ipv4_fragment(pattern(8), 0, kMore));
  first.ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_L4_CKSUM_BAD | RTE_MBUF_F_RX_IP_CKSUM_GOOD |
                   RTE_MBUF_F_RX_RSS_HASH | kHeadersFlag;
  first.packet_type = RTE_PTYPE_L4_FRAG;
  first.port = 7;
  rte_mbuf& second = tester.pool().packet(ipv4_fragment(pattern(8), 8, 0));
  const auto no_one = [](rte_mbuf*, Reason) { FAIL(); };
  tester->add(first, parse_headers(first), 0, OverlapPolicy::first, no_one);
  const auto last = tester->add(second, parse_headers(second), 0, OverlapPolicy::first, no_one);
  ASSERT_NE(last.packet, nullptr);
  EXPECT_EQ(last.packet->ol_flags, RTE_MBUF_F_RX_VLAN);
  EXPECT_EQ(last.packet->packet_type, 0U);
  EXPECT_EQ(last.packet->port, 7);
  rte_pktmbuf_free(last.packet);
}

TEST(Reassembly, RefusesSharedPackets) {
  ReassemblyTester tester;
  rte_mbuf& packet = tester.pool().packet(ipv4_fragment(pattern(8), 0, kMore));
  rte_mbuf* const clone = rte_pktmbuf_clone(&packet, &*tester.pool());
  const auto no_one = [](rte_mbuf*, Reason) { FAIL(); };
  EXPECT_EQ(tester->add(*clone, parse_headers(packet), 0, OverlapPolicy::first, no_one).reason, Reason::shared);
  EXPECT_EQ(tester->add(packet, parse_headers(packet), 0, OverlapPolicy::first, no_one).reason, Reason::shared);
  rte_pktmbuf_free(clone);
  EXPECT_TRUE(tester.add(packet).is_held());
}

TEST(ReassemblyReason, HasNames) {
  EXPECT_EQ(to_string(Reason::none), "none");
  EXPECT_EQ(to_string(Reason::overlap), "overlap");
  EXPECT_EQ(to_string(Reason::no_mbuf), "no_mbuf");
  EXPECT_EQ(to_string(Reason::flushed), "flushed");
}

}  // namespace
}  // namespace penumbra
