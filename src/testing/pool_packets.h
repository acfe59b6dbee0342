// SPDX-License-Identifier: Apache-2.0
//
// Provides packets from a pool, for tests of functions that copy packets.
#pragma once

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "io/eal.h"
#include "io/packet_pool.h"
#include "penumbra/function.h"
#include "testing/function_runner.h"
#include "testing/packet.h"

namespace penumbra::function_testing {

/// Returns the pool that all tests of a program share. Starts the EAL.
inline rte_mempool* packet_memory() {
  static const io::PacketPool kPool = [] {
    io::start_eal({}, 1);
    return io::create_pool({.packets = 8191, .data_room = RTE_MBUF_DEFAULT_BUF_SIZE});
  }();
  return kPool.get();
}

inline rte_mbuf* packet_of(const Bytes& bytes) {
  rte_mbuf* const packet = rte_pktmbuf_alloc(packet_memory());
  char* const room = rte_pktmbuf_append(packet, static_cast<std::uint16_t>(bytes.size()));
  std::ranges::copy(bytes, room);
  return packet;
}

inline Bytes bytes_of(const rte_mbuf& packet) {
  EXPECT_EQ(packet.data_len, packet.pkt_len);
  const auto* const begin = rte_pktmbuf_mtod(&packet, const std::uint8_t*);
  return {begin, begin + packet.data_len};
}

/// Takes packet `i` out of a chunk that `function` has processed. Frees the packet and its copy.
inline Fate take(const Function& function, Chunk& chunk, std::uint16_t i) {
  const Verdict verdict = chunk.verdicts[i];
  Fate fate{.reason = reason_of(function, verdict)};
  const auto add = [&](std::span<const std::uint16_t> ports, const rte_mbuf& packet) {
    for (const std::uint16_t port : ports) {
      if (port == chunk.rx_port) continue;
      EXPECT_TRUE(fate.sent.emplace(port, bytes_of(packet)).second);
    }
  };
  if (verdict.kind == Verdict::Kind::send) {
    fate.sent.emplace(verdict.value, bytes_of(*chunk.packets[i]));
  } else if (verdict.kind == Verdict::Kind::replicate) {
    const Replication& replication = chunk.replications[i];
    add(replication.ports, *chunk.packets[i]);
    if (replication.other != nullptr) add(replication.other_ports, *replication.other);
    rte_pktmbuf_free(replication.other);
    fate.too_long = replication.dropped;
    EXPECT_FALSE(fate.sent.empty());
    EXPECT_GT(fate.sent.size() + fate.too_long, 1U) << "one copy is simply sent";
    EXPECT_EQ(function.reasons().at(replication.reason).name, "too_long");
  }
  rte_pktmbuf_free(chunk.packets[i]);
  return fate;
}

}  // namespace penumbra::function_testing
