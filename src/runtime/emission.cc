// SPDX-License-Identifier: Apache-2.0
#include "runtime/emission.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "packet/mbuf_gather.h"
#include "packet/mbuf_metadata.h"

namespace penumbra::runtime {
namespace {

/// Returns the trace of a packet of a chunk, or null if the packet is not traced.
PacketTrace* trace_of(Chunk& chunk, std::uint16_t packet) {
  if (!chunk.traced) return nullptr;
  auto& traces = static_cast<InFlightChunk&>(chunk).traces;  // Only chunks in flight are traced.
  const auto found = std::ranges::find(traces, packet, &PacketTrace::packet);
  return found == traces.end() ? nullptr : &*found;
}

}  // namespace

Emissions::Emissions(std::uint16_t worker, const Pipeline& pipeline, WorkerCounters& counters, Captures& captures,
                     Handover* handover)
    : worker_(worker),
      pipeline_(pipeline),
      stages_(static_cast<std::uint16_t>(pipeline.stages().size())),
      reasons_(pipeline.reasons().size()),
      counters_(counters),
      captures_(captures),
      handover_(handover),
      entries_(kCapacity) {}

void Emissions::push(rte_mbuf* packet, Verdict verdict, std::uint16_t stage) noexcept {
  verdict = pipeline_.redirected(stage, verdict);
  if (verdict.kind == Verdict::Kind::drop && verdict.value < reasons_) return drop(packet, verdict);
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
  chunk.traces.clear();
  while (head_ != tail_ && chunk.size < Chunk::kCapacity) {
    const Entry& entry = at(head_);
    if (entry.stage != first.stage || entry.packet->port != first.packet->port) break;
    for (auto& [packet, trace] : followed_) {
      if (packet != entry.packet) continue;
      trace.packet = chunk.size;
      trace.undecided = entry.verdict.kind == Verdict::Kind::pass;
      chunk.traces.push_back(std::move(trace));
      packet = nullptr;
    }
    chunk.packets[chunk.size] = entry.packet;
    chunk.verdicts[chunk.size++] = entry.verdict;
    ++head_;
  }
  chunk.traced = !chunk.traces.empty();
  if (chunk.traced) std::erase_if(followed_, [](const auto& each) { return each.first == nullptr; });
}

bool Emissions::follow(const rte_mbuf* packet, PacketTrace& trace) {
  for (std::size_t position = head_; position != tail_; ++position) {
    if (at(position).packet != packet) continue;
    followed_.emplace_back(packet, std::move(trace));
    return true;
  }
  return false;
}

void Emissions::redirect(Chunk& chunk, std::uint16_t index) noexcept {
  if (size() == kCapacity) {
    chunk.verdicts[index] = drop_as(RuntimeReason::emitter_full);
    return;
  }
  rte_mbuf* const packet = chunk.packets[index];
  packet->port = chunk.rx_port;  // A driver's number until now.
  journey_of(*packet, chunk.now);
  push(packet, chunk.verdicts[index], chunk.stage);
}

void Emissions::drop(rte_mbuf* packet, RuntimeReason reason) noexcept {
  drop(packet, drop_as(reason));
}

void Emissions::drop(rte_mbuf* packet, Verdict verdict) noexcept {
  counters_.reason(verdict.value).add(1);
  if (captures_.armed()) captures_.refused(worker_, *packet, verdict);
  rte_pktmbuf_free(packet);
}

bool Emissions::hand_over(rte_mbuf* packet, std::uint16_t stage, PacketTrace* trace) noexcept {
  const std::uint16_t to = handover_ == nullptr ? worker_ : handover_->worker_of(*packet, worker_);
  if (to == worker_) return false;
  PacketMetadata& journey = journey_of(*packet, 0);
  journey.stage = stage;
  journey.trace = trace == nullptr ? 0 : trace->number;
  if (trace != nullptr) journey.trace_part = static_cast<std::uint16_t>(trace->part + 1);
  const bool is_taken = handover_->put(worker_, to, packet);
  if (!is_taken) drop(packet, RuntimeReason::emitter_full);
  if (trace != nullptr) trace->goes_on = is_taken;
  return true;
}

bool Emissions::take_over() noexcept {
  std::array<rte_mbuf*, Chunk::kCapacity> packets;
  const auto room = static_cast<std::uint16_t>(std::min(packets.size(), kCapacity - size()));
  const std::uint16_t count = handover_->take(worker_, packets.data(), room);
  for (std::uint16_t i = 0; i < count; ++i) {
    const PacketMetadata& journey = journey_of(*packets[i], 0);
    if (journey.trace != 0) followed_.emplace_back(packets[i], Tracer::go_on(*packets[i], worker_));
    push(packets[i], {}, journey.stage);
  }
  return count > 0;
}

rte_mbuf* StageEmitter::allocate() noexcept {
  return pool_ == nullptr ? nullptr : rte_pktmbuf_alloc(pool_);
}

void StageEmitter::discard(rte_mbuf* packet) noexcept {
  rte_pktmbuf_free(packet);
}

void StageEmitter::emit(rte_mbuf* packet, Verdict verdict) noexcept {
  emissions_.counters().created.add(1);
  gather(*packet, kContiguousBytes);
  emissions_.push(packet, verdict, stage_);
}

void StageEmitter::hold(Chunk& chunk, std::uint16_t index) noexcept {
  chunk.verdicts[index] = {Verdict::Kind::hold, 0};
  if (chunk.is_dry_run) return;
  chunk.packets[index]->port = chunk.rx_port;
  journey_of(*chunk.packets[index], chunk.now);
  emissions_.counters().held.add(1);
}

void StageEmitter::release(rte_mbuf* packet, Verdict verdict) noexcept {
  emissions_.counters().released.add(1);
  emissions_.push(packet, verdict, stage_);
}

void StageEmitter::absorb(std::size_t count) noexcept {
  emissions_.counters().absorbed.add(count);
}

void StageEmitter::replace(Chunk& chunk, std::uint16_t index, rte_mbuf* packet, std::size_t held) noexcept {
  WorkerCounters& counters = emissions_.counters();
  counters.held.add(1);
  counters.absorbed.add(held + 1);
  counters.created.add(1);
  gather(*packet, kContiguousBytes);
  packet->port = chunk.rx_port;
  journey_of(*packet, chunk.now);
  if (emissions_.hand_over(packet, stage_, trace_of(chunk, index))) {
    chunk.verdicts[index] = kHandedOver;
  } else {
    chunk.packets[index] = packet;
    chunk.verdicts[index] = {};
  }
}

void StageEmitter::go_to(Chunk& chunk, std::uint16_t index, std::uint16_t stage) noexcept {
  chunk.verdicts[index] = {Verdict::Kind::go_to, stage};
  if (chunk.is_dry_run) return;
  PacketMetadata& metadata = journey_of(*chunk.packets[index], chunk.now);
  if (metadata.visits == kMostVisits) {
    chunk.verdicts[index] = drop_as(RuntimeReason::too_many_visits);
    return;
  }
  ++metadata.visits;
  emissions_.redirect(chunk, index);
}

}  // namespace penumbra::runtime
