// SPDX-License-Identifier: Apache-2.0
//
// Parses packets whose bytes are in several segments.
#include "packet/mbuf.h"

#include <gtest/gtest.h>

#include <list>

#include "packet/oracle.h"
#include "packet/testing.h"

namespace penumbra {
namespace {

using namespace packet_testing;

/// A packet whose segments have the given sizes; the last segment has the rest. Each segment is a separate allocation,
/// so that AddressSanitizer finds reads past its end.
class Chain {
 public:
  Chain(const Bytes& frame, std::initializer_list<std::size_t> sizes) {
    auto from = frame.begin();
    for (const std::size_t size : sizes) {
      add({from, from + static_cast<std::ptrdiff_t>(size)});
      from += static_cast<std::ptrdiff_t>(size);
    }
    add({from, frame.end()});
    segments_.front().mbuf.pkt_len = static_cast<std::uint32_t>(frame.size());
    segments_.front().mbuf.nb_segs = static_cast<std::uint16_t>(segments_.size());
  }
  const rte_mbuf& packet() const { return segments_.front().mbuf; }

 private:
  struct Segment {
    Bytes bytes;
    rte_mbuf mbuf{};
  };
  void add(Bytes bytes) {
    rte_mbuf* const last = segments_.empty() ? nullptr : &segments_.back().mbuf;
    Segment& segment = segments_.emplace_back();
    segment.bytes = std::move(bytes);
    segment.mbuf.buf_addr = segment.bytes.data();
    segment.mbuf.data_len = static_cast<std::uint16_t>(segment.bytes.size());
    if (last != nullptr) last->next = &segment.mbuf;
  }
  std::list<Segment> segments_;
};

TEST(ParseMbuf, OfOneSegment) {
  const Bytes frame = ethernet(0x0800, ipv4(6, tcp()));
  EXPECT_EQ(parse_headers(Chain(frame, {}).packet()), parse_headers(std::as_bytes(std::span(frame))));
}

TEST(ParseMbuf, WithHeadersInTheFirstSegment) {
  const Bytes frame = ethernet(0x0800, ipv4(6, tcp(Bytes(12)) + Bytes(300)));
  EXPECT_EQ(parse_headers(Chain(frame, {54}).packet()), parse_headers(std::as_bytes(std::span(frame))))
      << "options of TCP may be in another segment";
}

TEST(ParseMbuf, WithHeadersInAllSegments) {
  const Bytes frame = ethernet(0x8100, tag(5, 0x86DD, ipv6(60, extension(6) + tcp(Bytes(12)) + Bytes(3000))));
  PacketHeaders wanted = parse_headers(std::as_bytes(std::span(frame)));
  wanted.flags |= PacketHeaders::kScattered;
  for (std::size_t first = 0; first < 86; ++first) {
    EXPECT_EQ(parse_headers(Chain(frame, {first}).packet()), wanted) << first;
    EXPECT_EQ(parse_headers(Chain(frame, {first, 1, 0, 1}).packet()), wanted) << first;
  }
}

TEST(ParseMbuf, ThatIsUnparsable) {
  const Bytes cut = ethernet(0x0800, ipv4(6, Bytes(10)));
  const PacketHeaders headers = parse_headers(Chain(cut, {40}).packet());
  EXPECT_EQ(headers.fault, HeaderFault::transport_cut);
  const Bytes long_chain = ethernet(0x86DD, ipv6(60, extension(60, 200) + extension(60, 200) + extension(6) + tcp()));
  EXPECT_EQ(parse_headers(Chain(long_chain, {100}).packet()).fault, HeaderFault::too_long);
}

TEST(SumOfAnMbuf, IsThatOfItsBytesInOneSegment) {
  Bytes frame(40);
  for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<std::uint8_t>(i * 37 + 11);
  for (std::size_t first = 0; first < 10; ++first) {
    for (std::size_t second = 0; second < 10; ++second) {
      const Chain chain(frame, {first, second, 1, 0});
      for (std::size_t offset = 0; offset <= frame.size(); ++offset) {
        for (std::size_t count = 0; count <= frame.size() - offset; ++count) {
          ASSERT_EQ(folded(ones_sum(chain.packet(), offset, count)), folded(ones_sum(frame.data() + offset, count)))
              << first << " " << second << " " << offset << " " << count;
        }
      }
    }
  }
}

}  // namespace
}  // namespace penumbra
