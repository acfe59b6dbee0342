// SPDX-License-Identifier: Apache-2.0
#include "runtime/egress.h"

#include <rte_mbuf.h>
#include <rte_pause.h>

#include <algorithm>

#include "packet/mbuf_gather.h"

namespace penumbra::runtime {

Egress::Egress(std::uint16_t worker, std::size_t reasons, std::vector<io::TxQueue*> queues, HostPath* host,
               WorkerCounters& counters, Tracer& tracer, Captures& captures)
    : worker_(worker),
      reasons_(reasons),
      queues_(std::move(queues)),
      host_(host),
      counters_(counters),
      tracer_(tracer),
      captures_(captures),
      groups_(queues_.size()),
      busy_(queues_.size()),
      refused_by_host_(counters.received.size()) {}

void Egress::add_port(io::TxQueue& queue) {
  queues_.push_back(&queue);
  groups_.emplace_back();
  busy_.push_back(0);
  if (closed_) queue.close();
}

void Egress::finish(InFlightChunk& chunk, std::uint64_t now) noexcept {
  constexpr auto kUndecided = static_cast<std::uint16_t>(RuntimeReason::undecided);
  Group refused;  // packets to free
  refused.count = 0;
  bool host_has_work = false;
  const bool captured = captures_.armed();
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    Verdict& verdict = chunk.verdicts[i];
    if (verdict.kind == Verdict::Kind::send && verdict.value < groups_.size()) {
      if (!fits_port(verdict.value, *chunk.packets[i])) [[unlikely]] {
        verdict = drop_as(RuntimeReason::tx_full);
      } else if (add(verdict.value, chunk.packets[i])) {
        continue;
      }
    } else if (verdict.kind == Verdict::Kind::hold || verdict.kind == Verdict::Kind::go_to) {
      continue;
    } else if (verdict.kind == Verdict::Kind::replicate) {
      if (chunk.packets[i]->nb_segs > 1 && !fits_all_ports(chunk, i)) [[unlikely]] {
        rte_pktmbuf_free(chunk.replications[i].other);
        verdict = drop_as(RuntimeReason::tx_full);
      } else if (replicate(chunk, i)) {
        continue;
      } else {
        verdict = {};
      }
    }
    // A verdict with an invalid port or reason counts as undecided.
    const bool decided = verdict.kind >= Verdict::Kind::drop && verdict.value < reasons_;
    rte_mbuf* const packet = chunk.packets[i];
    if (decided && verdict.kind == Verdict::Kind::punt && host_ != nullptr && host_->has_twin(chunk.rx_port)) {
      // The capture needs a reference, because the result is known only after the host owns the packet.
      if (captured) rte_mbuf_refcnt_update(packet, 1);
      verdict = host_->punt(chunk.worker, chunk.rx_port, verdict.value, packet, now);
      if (captured) {
        captures_.refused(worker_, *packet, verdict);
        rte_pktmbuf_free(packet);
      }
      counters_.reason(verdict.value).add(1);
      if (verdict.kind == Verdict::Kind::punt) {
        host_has_work = true;
        continue;
      }
      if (chunk.rx_queue < refused_by_host_.size()) ++refused_by_host_[chunk.rx_queue];
    } else {
      counters_.reason(decided ? verdict.value : kUndecided).add(1);
      if (captured) captures_.refused(worker_, *packet, decided ? verdict : drop_as(RuntimeReason::undecided));
    }
    refused.packets[refused.count++] = chunk.packets[i];
  }
  if (host_has_work) host_->wake();
  traced_ = chunk.traced;
  for (std::uint16_t i = 0; i < busy_count_; ++i) send(busy_[i]);
  busy_count_ = 0;
  if (chunk.traced) note_traces(chunk);
  if (refused.count > 0) rte_pktmbuf_free_bulk(refused.packets.data(), refused.count);
}

/// Returns true if the port takes the packet, which becomes one segment if the port takes no others.
bool Egress::fits_port(std::uint16_t port, rte_mbuf& packet) noexcept {
  return packet.nb_segs == 1 || queues_[port]->takes_chains() || gather(packet, packet.pkt_len);
}

/// Returns true if all ports of a replicated packet take it and its header variant.
bool Egress::fits_all_ports(const InFlightChunk& chunk, std::uint16_t packet) noexcept {
  const Replication& replication = chunk.replications[packet];
  const auto fit = [this](std::span<const std::uint16_t> ports, rte_mbuf& each) {
    return std::ranges::all_of(ports, [&](auto port) { return port >= queues_.size() || fits_port(port, each); });
  };
  return fit(replication.ports, *chunk.packets[packet]) &&
         (replication.other == nullptr || fit(replication.other_ports, *replication.other));
}

/// Adds a packet to a port's group. Returns false if there is no room, because a packet named the port several times.
bool Egress::add(std::uint16_t port, rte_mbuf* packet) noexcept {
  Group& group = groups_[port];
  if (group.count == Chunk::kCapacity) [[unlikely]]
    return false;
  if (group.count == 0) busy_[busy_count_++] = port;
  group.packets[group.count++] = packet;
  return true;
}

/// Replicates a packet. Returns false if it leaves by no port; then only its header variant has been freed.
bool Egress::replicate(const InFlightChunk& chunk, std::uint16_t packet) noexcept {
  const Replication& replication = chunk.replications[packet];
  std::uint16_t copies = add_copies(chunk, replication.ports, *chunk.packets[packet]);
  const bool itself = copies > 0;
  if (replication.other != nullptr) {
    const std::uint16_t others = add_copies(chunk, replication.other_ports, *replication.other);
    if (others == 0) rte_pktmbuf_free(replication.other);
    copies = static_cast<std::uint16_t>(copies + others);
  }
  if (copies == 0) return false;
  // The copies are counted before any copy is sent (see Counter).
  counters_.replicated.add(copies + replication.dropped - 1U);
  if (replication.dropped > 0) drop_copies(replication, *chunk.packets[packet]);
  if (!itself) rte_pktmbuf_free(chunk.packets[packet]);
  return true;
}

/// Counts and captures copies that are not made.
void Egress::drop_copies(const Replication& replication, const rte_mbuf& packet) noexcept {
  const Verdict verdict = verdict_of_dropped(replication);
  counters_.reason(verdict.value).add(replication.dropped);
  if (!captures_.armed()) return;
  for (std::uint16_t i = 0; i < replication.dropped; ++i) captures_.refused(worker_, packet, verdict);
}

Verdict Egress::verdict_of_dropped(const Replication& replication) const noexcept {
  if (replication.reason >= reasons_) return drop_as(RuntimeReason::undecided);
  return {Verdict::Kind::drop, replication.reason};
}

/// Adds references to the packet, to which no driver writes, to the ports' groups. Returns their number; at 0 the
/// packet is unchanged.
std::uint16_t Egress::add_copies(const InFlightChunk& chunk, std::span<const std::uint16_t> ports,
                                 rte_mbuf& packet) noexcept {
  std::uint16_t copies = 0;
  for (const std::uint16_t port : ports) {
    if (port == chunk.rx_port || port >= groups_.size()) continue;
    if (add(port, &packet)) ++copies;
  }
  if (copies > 1) rte_pktmbuf_refcnt_update(&packet, static_cast<std::int16_t>(copies - 1));
  return copies;
}

void Egress::send(std::uint16_t port) noexcept {
  Group& group = groups_[port];
  const std::uint16_t count = group.count;
  group.count = 0;
  // The lengths are saved, because a packet must not be accessed after the port took it.
  std::array<std::uint32_t, Chunk::kCapacity> lengths;
  std::uint64_t bytes = 0;
  for (std::uint16_t i = 0; i < count; ++i) {
    lengths[i] = rte_pktmbuf_pkt_len(group.packets[i]);
    bytes += lengths[i];
  }
  const bool captured = captures_.armed();
  if (captured) captures_.sending(worker_, port, group.packets.data(), count);
  std::uint16_t taken = 0;
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) rte_pause();
    taken = static_cast<std::uint16_t>(
        taken + queues_[port]->send(group.packets.data() + taken, static_cast<std::uint16_t>(count - taken)));
    if (taken == count || !queues_[port]->is_open()) break;
  }
  const RuntimeReason refusal = queues_[port]->is_open() ? RuntimeReason::tx_full : RuntimeReason::port_gone;
  if (captured) captures_.sent(worker_, port, taken);
  for (std::uint16_t i = taken; i < count; ++i) {
    bytes -= lengths[i];
    if (captured) captures_.refused(worker_, *group.packets[i], drop_as(refusal));
    if (traced_) unsent_.push_back({group.packets[i], port, refusal});
  }
  counters_.sent[port].add(taken, bytes);
  if (taken < count) {
    counters_.reason(static_cast<std::size_t>(refusal)).add(static_cast<std::uint64_t>(count - taken));
    rte_pktmbuf_free_bulk(group.packets.data() + taken, static_cast<unsigned>(count - taken));
  }
}

void Egress::send_from_host(rte_mbuf** packets, std::uint16_t count) noexcept {
  traced_ = false;
  for (std::uint16_t i = 0; i < count; ++i) {
    const std::uint16_t port = packets[i]->port;
    Group& group = groups_[port];
    // Sends to one port after the other, because most packets of a burst have the same port.
    const bool last = i + 1 == count || packets[i + 1]->port != port;
    if (host_->is_too_long(*packets[i])) [[unlikely]] {
      counters_.reason(static_cast<std::size_t>(RuntimeReason::host_too_long)).add(1);
      if (captures_.armed()) captures_.refused(worker_, *packets[i], drop_as(RuntimeReason::host_too_long));
      rte_pktmbuf_free(packets[i]);
    } else {
      group.packets[group.count++] = packets[i];
    }
    if (last) send(port);
  }
}

/// Returns the result for a packet that was to leave by `port`.
Verdict Egress::outcome(const rte_mbuf* packet, std::uint16_t port) const {
  const auto at = std::ranges::find_if(
      unsent_, [&](const Unsent& unsent) { return unsent.packet == packet && unsent.port == port; });
  return at == unsent_.end() ? Verdict::send(port) : drop_as(at->reason);
}

void Egress::note_traces(InFlightChunk& chunk) {
  for (auto& trace : chunk.traces) {
    const rte_mbuf* const packet = chunk.packets[trace.packet];
    const auto note = [&](Verdict verdict, const rte_mbuf* sent) {
      tracer_.note_verdict(trace, verdict.kind == Verdict::Kind::send ? outcome(sent, verdict.value) : verdict);
    };
    const Verdict verdict = chunk.verdicts[trace.packet];
    if (verdict.kind == Verdict::Kind::replicate) {
      const Replication& replication = chunk.replications[trace.packet];
      for (const std::uint16_t port : replication.ports) {
        if (port != chunk.rx_port) note(Verdict::send(port), packet);
      }
      for (const std::uint16_t port : replication.other_ports) {
        if (port != chunk.rx_port) note(Verdict::send(port), replication.other);
      }
      for (std::uint16_t i = 0; i < replication.dropped; ++i) note(verdict_of_dropped(replication), packet);
    } else if (verdict.kind == Verdict::Kind::pass) {
      note(drop_as(RuntimeReason::undecided), packet);
    } else if (verdict == kHandedOver) {
      if (!trace.goes_on) note(drop_as(RuntimeReason::emitter_full), packet);
    } else {
      note(verdict, packet);
    }
  }
  unsent_.clear();
  tracer_.finish(chunk.traces);
}

void Egress::write_out() noexcept {
  for (auto* queue : queues_) queue->write_out();
}

void Egress::close() noexcept {
  closed_ = true;
  for (auto* queue : queues_) queue->close();
}

}  // namespace penumbra::runtime
