// SPDX-License-Identifier: Apache-2.0
#include "runtime/handover.h"

#include <fmt/format.h>

#include <utility>

#include "io/flow_spread.h"
#include "packet/mbuf_metadata.h"

namespace penumbra::runtime {

Handover::Handover(std::uint16_t workers)
    : workers_(workers),
      rings_(workers_ * workers_),
      doorbells_(workers_),
      turns_(workers_),
      busy_and_packets_(workers_) {
  static std::atomic<unsigned> made{0};
  const unsigned number = made.fetch_add(1);
  for (std::size_t from = 0; from < workers_; ++from) {
    for (std::size_t to = 0; to < workers_; ++to) {
      if (from == to) continue;
      rings_[from * workers_ + to] =
          std::make_unique<io::PacketRing>(fmt::format("handover{}_{}_{}", number, from, to));
    }
  }
}

void Handover::set_port(std::uint16_t port, std::vector<std::uint16_t> workers_of_queues) {
  if (port >= queues_.size()) queues_.resize(port + std::size_t{1});
  queues_[port] = std::move(workers_of_queues);
}

std::uint16_t Handover::worker_of(rte_mbuf& packet, std::uint16_t self) const noexcept {
  if (packet.port >= queues_.size() || queues_[packet.port].empty()) return self;
  const std::vector<std::uint16_t>& workers = queues_[packet.port];
  return workers[io::queue_of(headers_of(packet), packet, static_cast<std::uint16_t>(workers.size()))];
}

bool Handover::put(std::uint16_t from, std::uint16_t to, rte_mbuf* packet) noexcept {
  // The packet counts before the receiver can take it, because the receiver subtracts it.
  busy_and_packets_.fetch_add(1);
  if (ring(from, to).put(&packet, 1) == 0) {
    busy_and_packets_.fetch_sub(1);
    return false;
  }
  doorbells_[to]->ring();
  return true;
}

bool Handover::has_packets(std::uint16_t to) const noexcept {
  for (std::size_t from = 0; from < workers_; ++from) {
    if (from != to && !ring(static_cast<std::uint16_t>(from), to).empty()) return true;
  }
  return false;
}

std::uint16_t Handover::take(std::uint16_t to, rte_mbuf** packets, std::uint16_t capacity) noexcept {
  std::uint16_t count = 0;
  std::uint16_t& turn = turns_[to];
  for (std::size_t i = 0; i < workers_ && count < capacity; ++i) {
    turn = static_cast<std::uint16_t>((turn + 1U) % workers_);
    if (turn == to) continue;
    count = static_cast<std::uint16_t>(count + ring(turn, to).take(packets + count, capacity - count));
  }
  if (count > 0) busy_and_packets_.fetch_sub(count);
  return count;
}

}  // namespace penumbra::runtime
