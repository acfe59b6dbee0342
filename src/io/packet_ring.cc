// SPDX-License-Identifier: Apache-2.0
#include "io/packet_ring.h"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <stdexcept>

namespace penumbra::io {

PacketRing::PacketRing(const std::string& name)
    : ring_(
          rte_ring_create(name.c_str(), kRingSlots, static_cast<int>(rte_socket_id()), RING_F_SP_ENQ | RING_F_SC_DEQ)) {
  if (ring_ == nullptr) {
    throw std::runtime_error(fmt::format("no memory for the ring {}: {}", name, rte_strerror(rte_errno)));
  }
}

PacketRing::~PacketRing() {
  if (ring_ != nullptr) clear();
}

void PacketRing::Free::operator()(rte_ring* ring) const {
  rte_ring_free(ring);
}

std::uint16_t PacketRing::put(rte_mbuf** packets, std::uint16_t count) noexcept {
  return static_cast<std::uint16_t>(
      rte_ring_sp_enqueue_burst(ring_.get(), reinterpret_cast<void**>(packets), count, nullptr));
}

std::uint16_t PacketRing::room() const noexcept {
  return static_cast<std::uint16_t>(rte_ring_free_count(ring_.get()));
}

std::uint16_t PacketRing::take(rte_mbuf** packets, std::uint16_t count) noexcept {
  return static_cast<std::uint16_t>(
      rte_ring_sc_dequeue_burst(ring_.get(), reinterpret_cast<void**>(packets), count, nullptr));
}

bool PacketRing::empty() const noexcept {
  return rte_ring_empty(ring_.get()) != 0;
}

void PacketRing::clear() noexcept {
  rte_mbuf* packet = nullptr;
  while (take(&packet, 1) == 1) rte_pktmbuf_free(packet);
}

}  // namespace penumbra::io
