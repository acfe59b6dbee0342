// SPDX-License-Identifier: Apache-2.0
//
// Reassembles fragments that the input describes. Every fragment must be refused, handed back, absorbed or held, and no
// mbuf may be lost. Completed datagrams are fragmented again.
//
// The first byte is the policy. A record follows for each packet: a byte of flags, identification, offset and size in
// units of 8 bytes, and a byte that changes one byte of the frame.
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "io/eal.h"
#include "io/packet_pool.h"
#include "packet/fragment.h"
#include "packet/mbuf.h"
#include "packet/reassembly.h"
#include "packet/testing.h"

namespace {

using namespace penumbra;
using packet_testing::Bytes;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Returns the only pool. Its buffers are so small that packets are chains.
rte_mempool& pool() {
  static const io::PacketPool kPool = [] {
    io::start_eal({}, 1);
    return io::create_small_pool({512, RTE_PKTMBUF_HEADROOM + 100});
  }();
  return *kPool;
}

rte_mbuf* packet_of(const Bytes& bytes) {
  rte_mbuf* const head = rte_pktmbuf_alloc(&pool());
  rte_mbuf* last = head;
  for (std::size_t at = 0; at < bytes.size() && last != nullptr;) {
    const auto size = static_cast<std::uint16_t>(std::min<std::size_t>(bytes.size() - at, rte_pktmbuf_tailroom(last)));
    if (size == 0) {
      last = last->next = rte_pktmbuf_alloc(&pool());
      ++head->nb_segs;
      continue;
    }
    std::memcpy(rte_pktmbuf_append(last, size), bytes.data() + at, size);
    at += size;
  }
  require(last != nullptr);
  head->pkt_len = static_cast<std::uint32_t>(bytes.size());
  return head;
}

/// A record of the input.
struct Record {
  static constexpr std::size_t kBytes = 6;
  std::span<const std::uint8_t> bytes;

  bool is_ipv4() const { return (bytes[0] & 1) != 0; }
  bool more() const { return (bytes[0] & 2) != 0; }
  bool has_tag() const { return (bytes[0] & 4) != 0; }
  bool has_extension() const { return (bytes[0] & 8) != 0; }
  std::uint64_t later() const { return (bytes[0] & 16) != 0 ? std::uint64_t{bytes[1]} << 28 : 0; }

  Bytes frame() const {
    using namespace packet_testing;
    const std::size_t offset = bytes[2] * std::size_t{(bytes[0] & 32) != 0 ? 256U : 8U};
    Bytes payload(bytes[3] % 64 * std::size_t{4}, bytes[3]);
    Bytes packet;
    if (is_ipv4()) {
      const Bytes options = has_extension() ? Bytes{0x94, 4, 0, 0} : Bytes{};
      packet = ipv4(17, payload, (more() ? 0x2000 : 0) + offset / 8, options);
      packet[5] = bytes[1] & 3;
    } else {
      packet = fragment_header(17, offset, more()) + payload;
      packet[7] = bytes[1] & 3;
      packet = has_extension() ? ipv6(0, extension(44) + packet) : ipv6(44, packet);
    }
    const std::size_t type = is_ipv4() ? 0x0800 : 0x86DD;
    Bytes result = has_tag() ? ethernet(0x8100, tag(bytes[1] & 1, type, packet)) : ethernet(type, packet);
    if (bytes[4] < result.size()) result[bytes[4]] ^= bytes[5];
    return result;
  }
};

/// Fragments the packet again, and frees all.
void fragment_again(rte_mbuf* packet, std::uint16_t mtu) {
  std::array<rte_mbuf*, 64> fragments{};
  const PacketHeaders headers = parse_headers(*packet);
  // The payload of an IPv6 datagram may begin with a second fragment header.
  require(!headers.has(PacketHeaders::kFragment) || headers.has(PacketHeaders::kIpv6));
  const FragmentationResult result = fragment_packet(*packet, headers, mtu, 1, pool(), fragments);
  require((result.fault == FragmentationFault::none) == (result.count > 0));
  for (std::size_t i = 0; i < result.count; ++i) {
    require(rte_mbuf_check(fragments[i], 1, nullptr) == 0);
    require(fragments[i]->pkt_len <= headers.network + std::uint32_t{mtu});
    rte_pktmbuf_free(fragments[i]);
  }
  rte_pktmbuf_free(packet);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  rte_mempool& mbufs = pool();
  const auto policy = static_cast<OverlapPolicy>(data[0] % kOverlapPolicies.size());
  Reassembly reassembly({.memory = std::size_t{300} << 10, .datagrams = 4, .fragments = 16}, {1, 2}, mbufs);
  std::size_t added = 0, refused = 0, handed_back = 0, absorbed = 0;
  const auto hand_back = [&](rte_mbuf* packet, ReassemblyReason reason) {
    require(reason != ReassemblyReason::none && rte_mbuf_check(packet, 1, nullptr) == 0);
    rte_pktmbuf_free(packet);
    ++handed_back;
  };
  std::uint64_t now = 0;
  for (std::size_t at = 1; at + Record::kBytes <= size; at += Record::kBytes) {
    const Record record{std::span(data + at, Record::kBytes)};
    rte_mbuf* const packet = packet_of(record.frame());
    now += record.later();
    const ReassemblyResult result = reassembly.add(*packet, parse_headers(*packet), now, policy, hand_back);
    ++added;
    if (result.kind == ReassemblyResult::Kind::refused) {
      require(result.reason != ReassemblyReason::none);
      rte_pktmbuf_free(packet);
      ++refused;
    } else if (result.kind == ReassemblyResult::Kind::completed) {
      require(rte_mbuf_check(result.packet, 1, nullptr) == 0);
      absorbed += result.fragments;
      fragment_again(result.packet, static_cast<std::uint16_t>(data[at] * 4));
    }
    require(added == refused + handed_back + absorbed + reassembly.held());
    require(reassembly.memory() <= std::size_t{300} << 10);
    if (record.later() != 0) reassembly.expire(now, hand_back);
  }
  reassembly.flush(hand_back);
  require(reassembly.held() == 0 && reassembly.datagrams() == 0 && rte_mempool_in_use_count(&mbufs) == 0);
  return 0;
}
