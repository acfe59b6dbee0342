// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker.h"

#include <fmt/format.h>
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_prefetch.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/numa.h"
#include "io/eal.h"
#include "packet/mbuf_gather.h"
#include "packet/mbuf_metadata.h"

namespace penumbra::runtime {
namespace {

/// After this many rounds with chunks in flight, the worker stops receiving until none is in flight, because owners of
/// tables wait for that.
constexpr unsigned kRoundsWithoutQuiescence = 1000;

/// After this time with packets the functions get a tick, nanoseconds.
constexpr std::uint64_t kTickInterval = 1'000'000;

/// A full chunk with lookups and sending costs about 4 us.
constexpr std::uint64_t kSharesPerSecond = 250'000;

std::vector<io::RxQueue*> queues_of(const std::vector<ReceiveQueue>& receive) {
  std::vector<io::RxQueue*> queues;
  queues.reserve(receive.size());
  for (const auto& each : receive) queues.push_back(each.queue);
  return queues;
}

}  // namespace

Worker::Worker(WorkerSetup setup)
    : index_(setup.index),
      workers_(setup.workers),
      core_(setup.core),
      receive_(std::move(setup.receive)),
      pipeline_(setup.pipeline),
      grace_periods_(setup.grace_periods),
      quiesce_(setup.quiesce),
      has_ports_(setup.has_ports),
      host_(setup.host),
      handover_(setup.handover),
      counters_(receive_.size(), setup.transmit.size(), setup.pipeline.stages().size(),
                setup.pipeline.reasons().size()),
      egress_(setup.index, setup.pipeline.reasons().size(), std::move(setup.transmit), setup.host, counters_,
              setup.tracer, setup.captures),
      scheduler_(setup.index, setup.pipeline, setup.pipeline.open_queues(core_), counters_, setup.tracer,
                 setup.captures, egress_, setup.pool, setup.handover),
      idle_(setup.longest_sleep, queues_of(receive_), counters_.asleep),
      rx_schedule_(receive_.size(), static_cast<std::int64_t>(rte_get_tsc_hz() / kSharesPerSecond)),
      refused_(receive_.size()),
      open_(receive_.size()),
      nanoseconds_per_tick_(1e9 / static_cast<double>(rte_get_tsc_hz())) {
  std::iota(open_.begin(), open_.end(), std::size_t{0});
}

void Worker::run(RollCall& roll, PacketQuota& quota, const std::atomic<bool>& stop) noexcept {
  std::exception_ptr failure;
  std::optional<QsbrGracePeriods::Reader> reader;
  try {
    set_up_thread();
    reader.emplace(grace_periods_, index_);
  } catch (...) {
    failure = std::current_exception();
  }
  if (reader) reader->offline();  // a thread that changes ports may wait for a grace period
  const bool may_work = roll.arrive(failure);
  quiesce_.enter();
  if (may_work) {
    idle_.set_up_thread();
    reader->online();
    work(roll, quota, stop, *reader);
  }
  reader.reset();
  // A change of ports waits until the queues are closed, because it may destroy the devices afterwards.
  egress_.close();
  quiesce_.leave();
  roll.leave();
}

void Worker::set_up_thread() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core_, &cores);
  const int failure = core_ < CPU_SETSIZE ? pthread_setaffinity_np(pthread_self(), sizeof cores, &cores) : EINVAL;
  if (failure != 0) {
    throw std::runtime_error(
        fmt::format("worker {} cannot run on core {}: {}; `workers: {{cores: [...]}}` must name "
                    "cores that this process may use",
                    index_, core_, std::strerror(failure)));
  }
  pthread_setname_np(pthread_self(), fmt::format("worker-{}", index_).c_str());
  take_local_memory();
  io::register_thread();
  scheduler_.open_functions(index_, workers_, core_);
}

void Worker::work(RollCall& roll, PacketQuota& quota, const std::atomic<bool>& stop,
                  QsbrGracePeriods::Reader& reader) noexcept {
  began_.set(rte_rdtsc());
  bool is_done = false;
  unsigned rounds = 0;
  for (;;) {
    bool idle = true;
    if (scheduler_.in_flight() > 0 && scheduler_.poll(now())) {
      idle = false;
      processed_ = true;
    }
    if (scheduler_.has_ticks()) tick();
    if (!draining_ && stop.load(std::memory_order_relaxed)) drain();
    const bool enough = quota.used_up();
    const bool may_take = rounds < kRoundsWithoutQuiescence && !quiesce_.is_requested();
    if (!enough && may_take && receive_from_all(quota)) idle = false;
    if (host_ != nullptr && send_from_host()) idle = false;
    if (handover_ != nullptr && may_take && take_over()) idle = false;
    if (scheduler_.in_flight() > 0) {
      if (rounds < kRoundsWithoutQuiescence) ++rounds;
    } else {
      rounds = 0;
      reader.quiescent();
      if (quiesce_.is_requested()) {
        roll.all_done(false, is_done);  // a change may give the worker queues with packets
        stand_still(reader);
      }
      const bool done = open_.empty() && (draining_ || has_ports_.load(std::memory_order_relaxed));
      if (enough || roll.all_done(done, is_done)) break;
    }
    if (!idle) {
      idle_.worked();
    } else if (scheduler_.in_flight() > 0) {
      rte_pause();
    } else if (idle_.rest(reader, until_tick())) {
      egress_.write_out();
    }
  }
  finish(reader);
  ended_.set(rte_rdtsc());
}

/// Lets the functions release all packets. Ends when no other worker can hand packets over any more.
void Worker::finish(QsbrGracePeriods::Reader& reader) noexcept {
  const auto finish_all = [this] {
    while (!scheduler_.finish() || scheduler_.in_flight() > 0) scheduler_.poll(now());
  };
  finish_all();
  if (handover_ == nullptr) return;
  handover_->become_idle();
  while (!handover_->is_over()) {
    reader.quiescent();
    if (quiesce_.is_requested()) stand_still(reader);
    if (!handover_->has_packets(index_)) {
      rte_pause();
      continue;
    }
    handover_->become_busy();
    while (take_over()) finish_all();
    handover_->become_idle();
  }
}

bool Worker::take_over() noexcept {
  if (!scheduler_.take_over()) return false;
  processed_ = true;
  return true;
}

/// Receives from all queues. Returns true if there were packets, or if a skipped queue may have some.
bool Worker::receive_from_all(PacketQuota& quota) noexcept {
  bool received = false;
  for (std::size_t left = open_.size(); left > 0 && scheduler_.has_room(); --left) {
    if (turn_ >= open_.size()) turn_ = 0;
    const std::size_t queue = open_[turn_];
    if (!rx_schedule_.may_receive(queue)) {
      ++turn_;
    } else if (receive_from(queue, quota)) {
      received = true;
      ++turn_;
    } else if (receive_[queue].queue->exhausted()) {
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(turn_));
    } else {
      rx_schedule_.was_empty(queue);
      ++turn_;
    }
  }
  return rx_schedule_.end_round(received) || received;
}

bool Worker::receive_from(std::size_t queue, PacketQuota& quota) noexcept {
  const std::uint64_t begin = rte_rdtsc();
  InFlightChunk& chunk = scheduler_.next();
  const std::uint16_t claimed = quota.claim(Chunk::kCapacity);
  if (claimed == 0) return false;
  io::RxQueue& source = *receive_[queue].queue;
  const std::uint64_t lost_before = source.lost();
  chunk.size = source.receive(chunk.packets.data(), claimed);
  quota.settle(claimed, static_cast<std::uint16_t>(chunk.size + (source.lost() - lost_before)));
  if (chunk.size == 0) return false;
  std::uint64_t bytes = 0;
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    rte_prefetch0(rte_pktmbuf_mtod(chunk.packets[i], const void*));
    clear_metadata(*chunk.packets[i]);
    if (chunk.packets[i]->nb_segs > 1) [[unlikely]]
      gather(*chunk.packets[i], kContiguousBytes);
    bytes += rte_pktmbuf_pkt_len(chunk.packets[i]);
  }
  chunk.rx_port = receive_[queue].port;
  chunk.rx_queue = static_cast<std::uint16_t>(queue);
  chunk.worker = index_;
  processed_ = true;
  counters_.received[queue].add(chunk.size, bytes);
  const std::uint64_t now = rte_rdtsc();
  chunk.now = nanoseconds(now);
  if (scheduler_.has_ticks()) use_capture_time(chunk);
  counters_.steps[kReceiveStep].add(now - begin, chunk.size);
  const std::uint16_t size = chunk.size;
  charge(queue, scheduler_.enter(now) - begin, size);
  return true;
}

/// Sets the clock to the capture time of the chunk's last packet, if it has one, and records those of all packets.
void Worker::use_capture_time(Chunk& chunk) noexcept {
  const rte_mbuf& last = *chunk.packets[chunk.size - 1U];
  if (!packet_time_.has(last)) return;
  capture_time_ = std::max(capture_time_, packet_time_.get(last));
  chunk.now = capture_time_;
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    rte_mbuf& packet = *chunk.packets[i];
    if (packet_time_.has(packet)) journey_of(packet, packet_time_.get(packet));
  }
}

std::uint64_t Worker::nanoseconds(std::uint64_t ticks) const noexcept {
  return static_cast<std::uint64_t>(static_cast<double>(ticks) * nanoseconds_per_tick_);
}

std::uint64_t Worker::now() const noexcept {
  return capture_time_ != 0 ? capture_time_ : nanoseconds(rte_rdtsc());
}

void Worker::tick() noexcept {
  const std::uint64_t steady = nanoseconds(rte_rdtsc());
  const std::uint64_t clock = capture_time_ != 0 ? capture_time_ : steady;
  if (clock < next_tick_ && (!processed_ || steady - last_tick_ < kTickInterval)) return;
  processed_ = false;
  last_tick_ = steady;
  next_tick_ = scheduler_.tick(clock);
}

/// Returns the time until the functions need a tick.
std::chrono::nanoseconds Worker::until_tick() const noexcept {
  std::uint64_t at = processed_ && scheduler_.has_ticks() ? last_tick_ + kTickInterval : FunctionWorker::kNever;
  if (capture_time_ == 0 && scheduler_.has_ticks()) at = std::min(at, next_tick_);
  if (at == FunctionWorker::kNever) return std::chrono::nanoseconds::max();
  const std::uint64_t steady = nanoseconds(rte_rdtsc());
  return std::chrono::nanoseconds(at > steady ? static_cast<std::int64_t>(at - steady) : 0);
}

/// Charges punts over the limit 20 times, so that a flooded queue uses up its share and the NIC drops the rest.
void Worker::charge(std::size_t queue, std::uint64_t ticks, std::uint16_t packets) noexcept {
  constexpr std::uint64_t kTimes = 20;
  const std::uint64_t refused = egress_.refused_by_host(queue);
  const std::uint64_t fresh = refused - std::exchange(refused_[queue], refused);
  rx_schedule_.charge(queue, ticks + ticks * kTimes * fresh / packets);
}

bool Worker::send_from_host() noexcept {
  std::array<rte_mbuf*, Chunk::kCapacity> packets;
  const std::uint16_t count = host_->take(index_, packets.data(), Chunk::kCapacity);
  if (count == 0) return false;
  for (std::uint16_t i = 0; i < count; ++i) counters_.from_host[packets[i]->port].add(1, packets[i]->data_len);
  egress_.send_from_host(packets.data(), count);
  return true;
}

void Worker::drain() noexcept {
  draining_ = true;
  for (const auto& queue : receive_) queue.queue->drain();
}

/// Waits for the end of a change. Requires that nothing is in flight. The worker may have other queues afterwards.
void Worker::stand_still(QsbrGracePeriods::Reader& reader) noexcept {
  reader.offline();
  quiesce_.stop();
  reader.online();
  idle_.watch();
}

void Worker::add_port(io::TxQueue& queue) {
  counters_.sent.emplace_back();
  counters_.from_host.emplace_back();
  egress_.add_port(queue);
}

void Worker::add_queue(const ReceiveQueue& queue) {
  if (draining_) queue.queue->drain();
  receive_.push_back(queue);
  counters_.received.emplace_back();
  egress_.add_receive_queue();
  idle_.add_queue(*queue.queue);
  rx_schedule_.add_queue();
  refused_.push_back(0);
  look_again();
}

void Worker::look_again() {
  for (std::size_t i = 0; i < receive_.size(); ++i) {
    if (!receive_[i].queue->exhausted() && std::ranges::find(open_, i) == open_.end()) open_.push_back(i);
  }
}

void Worker::set_host(HostPath* host) {
  host_ = host;
  egress_.set_host(host);
}

void set_flow_workers(Handover& handover, const io::Port& port, std::span<const std::unique_ptr<Worker>> workers) {
  std::vector<std::uint16_t> of_queues(port.spreads_by_flow() ? port.rx_queues() : 0);
  for (std::size_t i = 0; i < workers.size() && !of_queues.empty(); ++i) {
    for (const ReceiveQueue& queue : workers[i]->receive_queues()) {
      if (queue.port == port.info().index) of_queues[queue.index] = static_cast<std::uint16_t>(i);
    }
  }
  handover.set_port(port.info().index, std::move(of_queues));
}

std::uint64_t Worker::cycles() const {
  const std::uint64_t began = began_.get(), ended = ended_.get();
  return began == 0 ? 0 : (ended != 0 ? ended : rte_rdtsc()) - began;
}

}  // namespace penumbra::runtime
