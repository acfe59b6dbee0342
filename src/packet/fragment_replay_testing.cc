// SPDX-License-Identifier: Apache-2.0
//
// A program for tests/test_fragments.py. It reads a capture and prints a line of JSON for each result.
//
//   fragment_replay reassemble POLICY CAPTURE    reassembles its fragments, by the capture's clock
//   fragment_replay fragment MTU CAPTURE         fragments its packets
#include <fmt/format.h>
#include <rte_mbuf.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "io/eal.h"
#include "io/frames.h"
#include "io/packet_pool.h"
#include "packet/fragment.h"
#include "packet/fragment_chain.h"
#include "packet/fragment_identification.h"
#include "packet/mbuf.h"
#include "packet/reassembly.h"

namespace {

using namespace penumbra;

std::string hex(const rte_mbuf& packet, std::uint32_t at) {
  std::vector<std::uint8_t> bytes(packet.pkt_len - at);
  read_chain(packet, at, bytes);
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

rte_mbuf& packet_of(const io::Frames& frames, const io::FrameEntry& entry, rte_mempool& pool) {
  rte_mbuf* const packet = rte_pktmbuf_alloc(&pool);
  char* const bytes = packet == nullptr ? nullptr : rte_pktmbuf_append(packet, static_cast<std::uint16_t>(entry.size));
  if (bytes == nullptr) throw std::runtime_error("no mbuf for a frame");
  std::copy_n(frames.bytes.data() + entry.offset, entry.size, bytes);
  return *packet;
}

void reassemble(OverlapPolicy policy, const io::Frames& frames, rte_mempool& pool) {
  Reassembly reassembly({}, random_siphash_key(), pool);
  const auto hand_back = [](rte_mbuf* packet, ReassemblyReason reason) {
    fmt::print("{{\"handed_back\": \"{}\"}}\n", to_string(reason));
    rte_pktmbuf_free(packet);
  };
  for (std::size_t i = 0; i < frames.entries.size(); ++i) {
    const std::uint64_t now = frames.entries[i].nanoseconds;
    reassembly.expire(now, hand_back);
    rte_mbuf& packet = packet_of(frames, frames.entries[i], pool);
    const ReassemblyResult result = reassembly.add(packet, parse_headers(packet), now, policy, hand_back);
    if (result.kind == ReassemblyResult::Kind::refused) {
      if (result.reason != ReassemblyReason::no_fragment) {
        fmt::print("{{\"frame\": {}, \"refused\": \"{}\"}}\n", i + 1, to_string(result.reason));
      }
      rte_pktmbuf_free(&packet);
    } else if (result.kind == ReassemblyResult::Kind::completed) {
      const PacketHeaders headers = parse_headers(*result.packet);
      fmt::print("{{\"frame\": {}, \"fragments\": {}, \"conflict\": {}, \"packet\": \"{}\"}}\n", i + 1,
                 result.fragments, result.had_conflict, hex(*result.packet, headers.network));
      rte_pktmbuf_free(result.packet);
    } else {
      fmt::print("{{\"frame\": {}, \"held\": true}}\n", i + 1);
    }
  }
  reassembly.flush(hand_back);
}

void fragment(std::uint16_t mtu, const io::Frames& frames, rte_mempool& pool) {
  FragmentIdentification identification(random_siphash_key(), 0, 1);
  for (const io::FrameEntry& entry : frames.entries) {
    rte_mbuf& packet = packet_of(frames, entry, pool);
    std::array<rte_mbuf*, 1024> fragments{};
    const FragmentationResult result =
        fragment_packet(packet, parse_headers(packet), mtu, identification.next({}, {}), pool, fragments);
    fmt::print("{{\"fault\": \"{}\", \"fragments\": [", to_string(result.fault));
    for (std::uint16_t i = 0; i < result.count; ++i) {
      fmt::print("{}\"{}\"", i == 0 ? "" : ", ", hex(*fragments[i], 0));
      rte_pktmbuf_free(fragments[i]);
    }
    fmt::print("]}}\n");
    rte_pktmbuf_free(&packet);
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count != 4) throw std::runtime_error("fragment_replay reassemble POLICY CAPTURE | fragment MTU CAPTURE");
    const std::string_view command = words[1];
    const io::Frames frames = io::load_capture(words[3]);
    io::start_eal({}, 1);
    const io::PacketPool pool = io::create_small_pool(
        {4096, static_cast<std::uint16_t>(RTE_PKTMBUF_HEADROOM + std::max(frames.largest(), 1920U))});
    const auto policy = parse_overlap_policy(words[2]);
    if (command == "fragment") {
      fragment(static_cast<std::uint16_t>(std::strtoul(words[2], nullptr, 10)), frames, *pool);
    } else if (command == "reassemble" && policy) {
      reassemble(*policy, frames, *pool);
    } else {
      throw std::runtime_error("unknown command or policy");
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
