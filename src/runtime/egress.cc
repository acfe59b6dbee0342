// SPDX-License-Identifier: Apache-2.0
#include "runtime/egress.h"

#include <rte_mbuf.h>
#include <rte_pause.h>

#include <algorithm>

#include "runtime/pipeline.h"

namespace penumbra::runtime {
namespace {

Verdict drop_as(RuntimeReason reason) {
  return {Verdict::Kind::drop, static_cast<std::uint16_t>(reason)};
}

}  // namespace

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
      refused_by_host_(counters.received.size()) {}

void Egress::finish(Flight& flight, std::uint64_t now) noexcept {
  constexpr auto kUndecided = static_cast<std::uint16_t>(RuntimeReason::undecided);
  Refused refused;
  std::array<std::uint16_t, Chunk::kCapacity> ports;  // those that packets go to, each once
  std::uint16_t port_count = 0;
  bool host_has_work = false;
  const bool captured = captures_.armed();
  for (std::uint16_t i = 0; i < flight.size; ++i) {
    Verdict& verdict = flight.verdicts[i];
    if (verdict.kind == Verdict::Kind::send && verdict.value < groups_.size()) {
      Group& group = groups_[verdict.value];
      if (group.count == 0) ports[port_count++] = verdict.value;
      group.packets[group.count++] = flight.packets[i];
      continue;
    }
    // A function that names a port or a reason that does not exist has not decided.
    const bool decided = verdict.kind >= Verdict::Kind::drop && verdict.value < reasons_;
    rte_mbuf* const packet = flight.packets[i];
    if (decided && verdict.kind == Verdict::Kind::punt && host_ != nullptr && host_->has_twin(flight.rx_port)) {
      if (captured) rte_mbuf_refcnt_update(packet, 1);  // what becomes of it is known when it is the host's already
      verdict = host_->punt(flight.worker, flight.rx_port, verdict.value, packet, now);
      if (captured) {
        captures_.refused(worker_, *packet, verdict);
        rte_pktmbuf_free(packet);
      }
      counters_.reason(verdict.value).add(1);
      if (verdict.kind == Verdict::Kind::punt) {
        host_has_work = true;
        continue;
      }
      ++refused_by_host_[flight.rx_queue];
    } else {
      counters_.reason(decided ? verdict.value : kUndecided).add(1);
      if (captured) captures_.refused(worker_, *packet, decided ? verdict : drop_as(RuntimeReason::undecided));
    }
    refused.packets[refused.count++] = flight.packets[i];
  }
  const std::uint16_t decided_against = refused.count;
  if (host_has_work) host_->wake();
  for (std::uint16_t i = 0; i < port_count; ++i) send(ports[i], refused);
  if (flight.traced) {
    Refused unsent;
    unsent.count = static_cast<std::uint16_t>(refused.count - decided_against);
    std::copy_n(refused.packets.begin() + decided_against, unsent.count, unsent.packets.begin());
    note_traces(flight, unsent);
  }
  if (refused.count > 0) rte_pktmbuf_free_bulk(refused.packets.data(), refused.count);
}

void Egress::send(std::uint16_t port, Refused& refused) noexcept {
  Group& group = groups_[port];
  const std::uint16_t count = group.count;
  group.count = 0;
  std::array<std::uint32_t, Chunk::kCapacity> lengths;  // a packet that was taken must not be looked at
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
    if (taken == count) break;
  }
  if (captured) captures_.sent(worker_, port, taken);
  for (std::uint16_t i = taken; i < count; ++i) {
    bytes -= lengths[i];
    refused.packets[refused.count++] = group.packets[i];
    if (captured) captures_.refused(worker_, *group.packets[i], drop_as(RuntimeReason::tx_full));
  }
  counters_.sent[port].add(taken, bytes);
  if (taken < count) {
    counters_.reason(static_cast<std::size_t>(RuntimeReason::tx_full)).add(static_cast<std::uint64_t>(count - taken));
  }
}

void Egress::send_from_host(rte_mbuf** packets, std::uint16_t count) noexcept {
  Refused refused;
  for (std::uint16_t i = 0; i < count; ++i) {
    Group& group = groups_[packets[i]->port];
    if (host_->is_too_long(*packets[i])) [[unlikely]] {
      counters_.reason(static_cast<std::size_t>(RuntimeReason::host_too_long)).add(1);
      if (captures_.armed()) captures_.refused(worker_, *packets[i], drop_as(RuntimeReason::host_too_long));
      refused.packets[refused.count++] = packets[i];
    } else {
      group.packets[group.count++] = packets[i];
    }
    // One port after the other: those of a burst mostly are of one.
    if (i + 1 == count || packets[i + 1]->port != packets[i]->port) send(packets[i]->port, refused);
  }
  if (refused.count > 0) rte_pktmbuf_free_bulk(refused.packets.data(), refused.count);
}

void Egress::note_traces(Flight& flight, const Refused& unsent) const {
  const auto* end = unsent.packets.begin() + unsent.count;
  for (auto& trace : flight.traces) {
    Verdict verdict = flight.verdicts[trace.packet];
    if (std::find(unsent.packets.begin(), end, flight.packets[trace.packet]) != end) {
      verdict = drop_as(RuntimeReason::tx_full);
    }
    if (verdict.kind == Verdict::Kind::pass) {
      verdict = drop_as(RuntimeReason::undecided);
    }
    tracer_.note_verdict(trace, verdict);
  }
  tracer_.finish(flight.traces);
}

void Egress::write_out() noexcept {
  for (auto* queue : queues_) queue->write_out();
}

void Egress::close() noexcept {
  for (auto* queue : queues_) queue->close();
}

}  // namespace penumbra::runtime
