// SPDX-License-Identifier: Apache-2.0
//
// Fragments packets before or after they are sealed.
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "functions/ipsec/worker.h"
#include "functions/ipsec/worker_work.h"
#include "packet/fragment.h"
#include "packet/mbuf_metadata.h"

namespace penumbra::ipsec {
void IpsecWorker::add_fragments(Chunk& chunk, Work& work, Works& works) noexcept {
  std::array<rte_mbuf*, Chunk::kCapacity> made;
  rte_mbuf& packet = *chunk.packets[work.index];
  const auto mtu = static_cast<std::uint16_t>(inner_mtu(work.sa->format, parts_.mtu));
  const FragmentationResult result = fragment_packet(packet, headers_of(packet), mtu, 0, *pool_, made);
  if (result.fault != FragmentationFault::none) return drop(chunk, work.index, Why::fragmented);
  const auto fragments = std::span(made).first(result.count);
  if (std::ranges::any_of(fragments, [](const rte_mbuf* each) { return each->nb_segs != 1; })) {
    rte_pktmbuf_free_bulk(fragments.data(), result.count);
    return drop(chunk, work.index, Why::too_long);
  }
  work.is_fragment = true;
  for (std::size_t i = 0; i + 1 < fragments.size(); ++i) fragments[i]->next = fragments[i + 1];
  work.fragments = fragments[0];
  add_next_fragment(chunk, work, works);
}

void IpsecWorker::add_next_fragment(Chunk& chunk, Work& work, Works& works) noexcept {
  work.copy = work.fragments;
  work.fragments = std::exchange(work.copy->next, nullptr);
  PacketHeaders headers = headers_of(*chunk.packets[work.index]);
  headers.end = work.copy->data_len;
  const auto* const frame = rte_pktmbuf_mtod(work.copy, const std::uint8_t*);
  if (plan_seal(work.sa->format, frame, headers, work.aging, work.seal) != EspFault::none) {
    return abandon(chunk, work, Why::too_long);
  }
  works.add(work);
}

void IpsecWorker::emit_fragment(Chunk& chunk, Work& work, Works& works, std::uint32_t bytes) noexcept {
  if (chunk.batch.is_still_written) {
    keep_from_pool(work.made);
    keep_from_pool(work.copy);
  }
  rte_mbuf* const sealed = std::exchange(work.made, nullptr);
  rte_pktmbuf_append(sealed, static_cast<std::uint16_t>(bytes));
  sealed->port = chunk.rx_port;
  emitter_.emit(sealed, {});
  emitter_.discard(std::exchange(work.copy, nullptr));
  if (work.fragments != nullptr) return add_next_fragment(chunk, work, works);
  absorb(chunk, work.index);
}

void IpsecWorker::fragment_sealed(Chunk& chunk, std::uint16_t index) noexcept {
  std::array<rte_mbuf*, Chunk::kCapacity> fragments;
  rte_mbuf& packet = *chunk.packets[index];
  const FragmentationResult result =
      fragment_packet(packet, headers_of(packet), parts_.mtu, identification_, *pool_, fragments);
  if (result.fault != FragmentationFault::none) return drop(chunk, index, Why::fragmented);
  for (std::uint16_t i = 0; i < result.count; ++i) {
    fragments[i]->port = chunk.rx_port;
    emitter_.emit(fragments[i], {});
  }
  absorb(chunk, index);
}

void IpsecWorker::absorb(Chunk& chunk, std::uint16_t index) noexcept {
  rte_mbuf* const packet = chunk.packets[index];
  emitter_.hold(chunk, index);
  emitter_.absorb(1);
  rte_pktmbuf_free(packet);
}

}  // namespace penumbra::ipsec
