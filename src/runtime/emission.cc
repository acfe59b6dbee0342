// SPDX-License-Identifier: Apache-2.0
#include "runtime/emission.h"

#include <rte_mbuf.h>

#include "io/packet_metadata.h"

namespace penumbra::runtime {

Emissions::Emissions(std::uint16_t worker, std::uint16_t stages, WorkerCounters& counters, Captures& captures)
    : worker_(worker), stages_(stages), counters_(counters), captures_(captures), entries_(kCapacity) {}

void Emissions::push(rte_mbuf* packet, Verdict verdict, std::uint16_t stage) noexcept {
  if (size() == kCapacity) {
    drop(packet, RuntimeReason::emitter_full);
    return;
  }
  Entry entry{.packet = packet, .verdict = verdict, .stage = stages_};
  if (verdict.kind == Verdict::Kind::pass) entry.stage = static_cast<std::uint16_t>(stage + 1);
  if (verdict.kind == Verdict::Kind::go_to) {
    entry.stage = verdict.value < stages_ ? verdict.value : stages_;  // An invalid stage leaves the packet undecided.
    entry.verdict = {};
  }
  at(tail_++) = entry;
}

void Emissions::fill(InFlightChunk& chunk) noexcept {
  const Entry first = at(head_);
  chunk.size = 0;
  chunk.rx_port = first.packet->port;
  chunk.rx_queue = InFlightChunk::kNoQueue;
  chunk.worker = worker_;
  chunk.stage = first.stage;
  while (head_ != tail_ && chunk.size < Chunk::kCapacity) {
    const Entry& entry = at(head_);
    if (entry.stage != first.stage || entry.packet->port != first.packet->port) break;
    chunk.packets[chunk.size] = entry.packet;
    chunk.verdicts[chunk.size++] = entry.verdict;
    ++head_;
  }
}

void Emissions::drop(rte_mbuf* packet, RuntimeReason reason) noexcept {
  const Verdict verdict{Verdict::Kind::drop, static_cast<std::uint16_t>(reason)};
  counters_.reason(verdict.value).add(1);
  if (captures_.armed()) captures_.refused(worker_, *packet, verdict);
  rte_pktmbuf_free(packet);
}

rte_mbuf* StageEmitter::allocate() noexcept {
  return pool_ == nullptr ? nullptr : rte_pktmbuf_alloc(pool_);
}

void StageEmitter::discard(rte_mbuf* packet) noexcept {
  rte_pktmbuf_free(packet);
}

void StageEmitter::emit(rte_mbuf* packet, Verdict verdict) noexcept {
  emissions_.counters().created.add(1);
  emissions_.push(packet, verdict, stage_);
}

void StageEmitter::hold(Chunk& chunk, std::uint16_t index) noexcept {
  chunk.verdicts[index] = {Verdict::Kind::hold, 0};
  if (chunk.is_dry_run) return;
  chunk.packets[index]->port = chunk.rx_port;  // A driver's number until now.
  emissions_.counters().held.add(1);
}

void StageEmitter::release(rte_mbuf* packet, Verdict verdict) noexcept {
  emissions_.counters().released.add(1);
  emissions_.push(packet, verdict, stage_);
}

void StageEmitter::absorb(std::size_t count) noexcept {
  emissions_.counters().absorbed.add(count);
}

void StageEmitter::go_to(Chunk& chunk, std::uint16_t index, std::uint16_t stage) noexcept {
  const Verdict verdict{Verdict::Kind::go_to, stage};
  chunk.verdicts[index] = verdict;
  if (chunk.is_dry_run) return;
  rte_mbuf* const packet = chunk.packets[index];
  packet->port = chunk.rx_port;
  io::PacketMetadata& metadata = io::metadata_of(*packet);
  if (metadata.visits == kMostVisits) {
    emissions_.drop(packet, RuntimeReason::too_many_visits);
    return;
  }
  ++metadata.visits;
  emissions_.push(packet, verdict, stage_);
}

}  // namespace penumbra::runtime
