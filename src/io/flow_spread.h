// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/mbuf.h"

namespace penumbra::io {

namespace detail {

/// Returns the queue for a hash. The seed of the hash differs from the seeds of later choices on the packet's path.
/// Otherwise each worker would see only some outcomes of a later choice.
inline std::uint16_t queue_of_hash(std::uint32_t hash, std::uint16_t queues) {
  return static_cast<std::uint16_t>(std::uint64_t{hash} * queues >> 32);
}
inline constexpr std::uint32_t kSpreadSeed = 0x51ED270B;

}  // namespace detail

/// Returns the queue, of `queues` queues, for a frame. All frames of a flow get the same queue, in both directions.
/// Ports of UDP do not count, because fragments do not have them.
inline std::uint16_t queue_of(const std::uint8_t* frame, std::size_t bytes, std::uint16_t queues) {
  const PacketHeaders headers = parse_headers(frame, bytes, bytes);
  return detail::queue_of_hash(symmetric_flow_hash(headers, frame, detail::kSpreadSeed, FlowPorts::tcp_and_sctp),
                               queues);
}
/// Returns the same for a packet, whose headers may be in several segments.
inline std::uint16_t queue_of(const PacketHeaders& headers, const rte_mbuf& packet, std::uint16_t queues) {
  return detail::queue_of_hash(symmetric_flow_hash(headers, packet, detail::kSpreadSeed, FlowPorts::tcp_and_sctp),
                               queues);
}
inline std::uint16_t queue_of(const rte_mbuf& packet, std::uint16_t queues) {
  return queue_of(parse_headers(packet), packet, queues);
}

}  // namespace penumbra::io
