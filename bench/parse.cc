// SPDX-License-Identifier: Apache-2.0
//
// Measures the parser of packet headers on one core: nanoseconds a packet, by kind of packet, and of DPDK's parser.
#include <fmt/format.h>
#include <rte_mbuf.h>
#include <rte_net.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "bench.h"
#include "packet/mbuf.h"
#include "packet/testing.h"
#include "penumbra/chunk.h"
#include "pin.h"

namespace penumbra::bench {
namespace {

using packet_testing::Bytes;

constexpr std::size_t kPackets = std::size_t{1} << 22;  // of a sample
constexpr std::size_t kLeastFrame = 60, kMostFrame = 128;
constexpr char kOurs[] = "penumbra", kRival[] = "rte_net_get_ptype";

/// Makes the packets of a kind. The number is that of the packet in its chunk.
struct Kind {
  std::string name;
  std::function<Bytes(Random&)> frame;
};

std::vector<Kind> kinds() {
  using namespace packet_testing;
  const auto tcp4 = [](Random&) { return ethernet(0x0800, ipv4(6, tcp(Bytes(12)))); };
  const auto udp4 = [](Random&) { return ethernet(0x0800, ipv4(17, udp())); };
  const auto tcp6 = [](Random&) { return ethernet(0x86DD, ipv6(6, tcp(Bytes(12)))); };
  const auto udp6 = [](Random&) { return ethernet(0x86DD, ipv6(17, udp())); };
  const auto mixed = [=](Random& random) {
    const std::array<std::function<Bytes(Random&)>, 4> all{tcp4, udp4, tcp6, udp6};
    return all[random.below(4)](random);
  };
  return {{"TCP over IPv4", tcp4},
          {"UDP over IPv4", udp4},
          {"TCP over IPv6", tcp6},
          {"UDP over IPv6", udp6},
          {"TCP and UDP over both, at random", mixed},
          {"a VLAN tag", [](Random&) { return ethernet(0x8100, tag(5, 0x0800, ipv4(6, tcp()))); }},
          {"ICMP", [](Random&) { return ethernet(0x0800, ipv4(1, Bytes(8))); }},
          {"two extension headers",
           [](Random&) { return ethernet(0x86DD, ipv6(0, extension(60) + extension(6) + tcp())); }}};
}

/// A chunk of packets as if they had been received. They are in the core's caches.
class Packets {
 public:
  Packets(const Kind& kind, std::uint64_t seed) : frames_(Chunk::kCapacity) {
    Random random(seed);
    for (auto& [bytes, mbuf, headers] : frames_) {
      Bytes frame = kind.frame(random);
      frame.resize(std::max(frame.size(), kLeastFrame));
      std::ranges::copy(frame, bytes.begin());
      mbuf.buf_addr = bytes.data();
      mbuf.data_len = static_cast<std::uint16_t>(frame.size());
      mbuf.pkt_len = mbuf.data_len;
      mbuf.nb_segs = 1;
    }
  }

  /// Returns nanoseconds a packet.
  double parse() {
    return measure([](Frame& frame) { parse_headers(frame.mbuf, frame.headers); });
  }
  double parse_by_rival() {
    return measure([](Frame& frame) {
      rte_net_hdr_lens lengths{};
      frame.headers.end = rte_net_get_ptype(&frame.mbuf, &lengths, RTE_PTYPE_ALL_MASK);
      frame.headers.transport = static_cast<std::uint16_t>(lengths.l2_len + lengths.l3_len);
    });
  }

  /// Throws WrongAnswer unless both parsers find the transport header at the same offset.
  void check(const std::string& name) {
    for (Frame& frame : frames_) {
      rte_net_hdr_lens lengths{};
      rte_net_get_ptype(&frame.mbuf, &lengths, RTE_PTYPE_ALL_MASK);
      parse_headers(frame.mbuf, frame.headers);
      if (!frame.headers.is_unparsable() && frame.headers.transport == lengths.l2_len + lengths.l3_len) continue;
      throw WrongAnswer(fmt::format("{}: the transport header is not where DPDK finds it", name));
    }
  }

 private:
  struct alignas(64) Frame {
    std::array<std::uint8_t, kMostFrame> bytes{};
    rte_mbuf mbuf{};
    PacketHeaders headers;
  };

  template <class Parse>
  double measure(const Parse& parse) {
    const double begin = thread_time();
    for (std::size_t parsed = 0; parsed < kPackets; parsed += frames_.size()) {
      for (Frame& frame : frames_) parse(frame);
      asm volatile("" : : "r"(frames_.data()) : "memory");
    }
    return (thread_time() - begin) / static_cast<double>(kPackets) * 1e9;
  }

  std::vector<Frame> frames_;
};

void run_parse(const Options& options, Report& report) {
  pin_to_first_core();
  report.note("frames are in the core's caches; rte_net_get_ptype reads no ports and checks no lengths");
  for (const Kind& kind : kinds()) {
    Packets packets(kind, options.seed);
    packets.check(kind.name);
    const std::vector<Series> series = interleave(
        {{kOurs, [&] { return packets.parse(); }}, {kRival, [&] { return packets.parse_by_rival(); }, Role::rival}},
        options.rounds);
    report.compare(kind.name, "ns/packet", series, kRival);
  }
  report.checked("both parsers find the transport header at the same offset");
}

[[maybe_unused]] const bool kParseBenchmark =
    register_benchmark({.name = "parse",
                        .measures = "the parser of packet headers on one core, by kind of packet, and DPDK's",
                        .needs = {},
                        .cost = {1, 2},
                        .run = &run_parse});

}  // namespace
}  // namespace penumbra::bench
