// SPDX-License-Identifier: Apache-2.0
#include "io/sinks.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <chrono>

namespace penumbra::io {
namespace {

std::uint64_t now() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(since_1970).count());
}

}  // namespace

std::uint16_t CountingTxQueue::send(rte_mbuf** packets, std::uint16_t count) noexcept {
  rte_pktmbuf_free_bulk(packets, count);
  return count;
}

std::uint16_t CaptureTxQueue::send(rte_mbuf** packets, std::uint16_t count) noexcept {
  std::uint64_t sent_at = 0;  // The clock is read at most once per burst, and never for packets of captures.
  for (std::uint16_t i = 0; i < count; ++i) {
    const rte_mbuf& packet = *packets[i];
    if (!time_.has(packet) && sent_at == 0) sent_at = now();
    const std::uint64_t time = time_.has(packet) ? time_.get(packet) : sent_at;
    const auto bytes = std::min<std::uint32_t>(packet.pkt_len, kMostFrameBytes);
    writer_.add(time, {static_cast<const std::uint8_t*>(rte_pktmbuf_read(&packet, 0, bytes, chain_.data())), bytes});
  }
  rte_pktmbuf_free_bulk(packets, count);
  return count;
}

}  // namespace penumbra::io
