// SPDX-License-Identifier: Apache-2.0
#include "io/sinks.h"

#include <rte_mbuf.h>

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
  std::uint16_t taken = 0;
  std::uint64_t sent_at = 0;  // the clock is read once a burst, and not at all for packets from captures
  for (; taken < count; ++taken) {
    const rte_mbuf& packet = *packets[taken];
    if (!time_.has(packet) && sent_at == 0) sent_at = now();
    const std::uint64_t time = time_.has(packet) ? time_.get(packet) : sent_at;
    if (!writer_.add(time, {rte_pktmbuf_mtod(&packet, const std::uint8_t*), packet.data_len})) break;
  }
  rte_pktmbuf_free_bulk(packets, taken);
  return taken;
}

}  // namespace penumbra::io
