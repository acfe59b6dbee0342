// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/mbuf_time.h"
#include "io/port.h"
#include "runtime/chunk_scheduler.h"
#include "runtime/counters.h"
#include "runtime/deficit_round_robin.h"
#include "runtime/egress.h"
#include "runtime/handover.h"
#include "runtime/idle.h"
#include "runtime/pipeline.h"
#include "runtime/quiesce.h"
#include "runtime/rcu.h"
#include "runtime/run_control.h"
#include "runtime/trace.h"

namespace penumbra::runtime {

/// Describes a receive queue and its port.
struct ReceiveQueue {
  io::RxQueue* queue = nullptr;
  std::uint16_t port = 0;
  std::uint16_t index = 0;  ///< Among the port's queues.
};

/// Parameters of a worker. The references must outlive it.
struct WorkerSetup {
  std::uint16_t index = 0;
  unsigned core = 0;
  std::chrono::nanoseconds longest_sleep{0};  ///< 0: the worker never sleeps.
  std::vector<ReceiveQueue> receive;
  std::vector<io::TxQueue*> transmit;  ///< By port.
  HostPath* host = nullptr;            ///< Null: no port has a twin.
  std::uint16_t workers = 1;           ///< Number of workers.
  rte_mempool* pool = nullptr;         ///< Memory of packets that functions create; null: they get none.
  Pipeline& pipeline;
  QsbrGracePeriods& grace_periods;
  Tracer& tracer;
  Captures& captures;
  Quiesce& quiesce;
  const std::atomic<bool>& has_ports;  ///< Without ports, a run does not end by itself.
  Handover* handover = nullptr;        ///< Null: no function hands packets over.
};

/// Receives packets, moves chunks through the pipeline, and sends. run() is the body of its thread.
class Worker {
 public:
  /// Throws std::runtime_error if an engine has no queue for the worker.
  explicit Worker(WorkerSetup setup);

  /// Runs the worker's thread: pins itself to its core, synchronizes at `roll`, and works until it has received and
  /// sent everything. `stop` ends receiving, but packets in software RSS are still forwarded. After a used-up quota,
  /// the worker only finishes the chunks in flight.
  void run(RollCall& roll, PacketQuota& quota, const std::atomic<bool>& stop) noexcept;

  // The following functions require a worker that is stopped (runtime/quiesce.h) or does not run yet.
  /// Adds a port.
  void add_port(io::TxQueue& queue);
  /// Adds a receive queue.
  void add_queue(const ReceiveQueue& queue);
  /// Checks exhausted queues again, because a returning port may have packets.
  void look_again();
  void set_host(HostPath* host);
  /// Change the memory of packets that engines reach.
  void share(const std::shared_ptr<const HugeMemory>& memory) { scheduler_.share(memory); }
  void unshare(const HugeMemory& memory) { scheduler_.unshare(memory); }
  /// Returns the number of queues from which the worker receives.
  std::size_t open_queues() const { return open_.size(); }

  unsigned core() const { return core_; }
  const std::vector<ReceiveQueue>& receive_queues() const { return receive_; }
  const WorkerCounters& counters() const { return counters_; }
  /// Returns the doorbell, for threads that have packets for the worker outside its queues.
  Doorbell& doorbell() { return idle_.doorbell(); }
  /// Returns the cycles since the start of work, or the total after its end.
  std::uint64_t cycles() const;

 private:
  void set_up_thread();
  void work(RollCall& roll, PacketQuota& quota, const std::atomic<bool>& stop,
            QsbrGracePeriods::Reader& reader) noexcept;
  bool receive_from_all(PacketQuota& quota) noexcept;
  bool receive_from(std::size_t queue, PacketQuota& quota) noexcept;
  void charge(std::size_t queue, std::uint64_t ticks, std::uint16_t packets) noexcept;
  bool send_from_host() noexcept;
  bool take_over() noexcept;
  void finish(QsbrGracePeriods::Reader& reader) noexcept;
  void drain() noexcept;
  void use_capture_time(Chunk& chunk) noexcept;
  std::uint64_t nanoseconds(std::uint64_t ticks) const noexcept;
  std::uint64_t now() const noexcept;
  void tick() noexcept;
  std::chrono::nanoseconds until_tick() const noexcept;
  void stand_still(QsbrGracePeriods::Reader& reader) noexcept;

  const std::uint16_t index_;
  const std::uint16_t workers_;
  const unsigned core_;
  std::vector<ReceiveQueue> receive_;
  const Pipeline& pipeline_;
  QsbrGracePeriods& grace_periods_;
  Quiesce& quiesce_;
  const std::atomic<bool>& has_ports_;
  HostPath* host_;
  Handover* const handover_;
  WorkerCounters counters_;
  Egress egress_;
  ChunkScheduler scheduler_;
  Idle idle_;
  DeficitRoundRobin rx_schedule_;       ///< schedule of the receive queues
  std::vector<std::uint64_t> refused_;  ///< by receive queue: packets that the host had refused at the last charge()
  std::vector<std::size_t> open_;       ///< receive queues that are not exhausted
  std::size_t turn_ = 0;                ///< index into open_ of the next queue
  bool draining_ = false;               ///< true: the worker only receives packets that its queues still hold
  const double nanoseconds_per_tick_;
  const io::MbufTime packet_time_;
  std::uint64_t capture_time_ = 0;  ///< latest capture time of a packet, nanoseconds; 0: no packet had one
  std::uint64_t last_tick_ = 0;     ///< time of the functions' last tick, nanoseconds of the steady clock
  std::uint64_t next_tick_ = 0;     ///< time of the next tick that the functions wanted, by the functions' clock
  bool processed_ = false;          ///< true: chunks were processed since the last tick
  Counter began_, ended_;           ///< time stamp counter; 0: not reached
};

/// Tells the handover which worker has which queue of a port. No worker may run meanwhile.
void set_flow_workers(Handover& handover, const io::Port& port, std::span<const std::unique_ptr<Worker>> workers);

}  // namespace penumbra::runtime
