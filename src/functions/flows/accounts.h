// SPDX-License-Identifier: Apache-2.0
//
// Counts the packets and bytes of all flows. Workers count packets of known flows. Workers report packets of unknown
// flows, FINs and RSTs to one thread. The thread opens accounts, closes accounts by the clock and exports them.
//
// Every packet is in an account or in a counter of unaccounted packets. The thread counts each reported packet, even if
// an earlier report has opened the account of its flow. Closing an account first removes the flow from the look-up
// table. The record is exported after a grace period, so that it includes packets of workers that found it earlier. The
// next packet of the flow opens a new account.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "functions/flows/exporter.h"
#include "functions/flows/settings.h"
#include "functions/learning/learner.h"
#include "penumbra/deadlines.h"
#include "penumbra/per_worker.h"
#include "tables/flows/flow_packet.h"
#include "tables/flows/flow_table.h"

namespace penumbra::flows {

/// Holds the report of a worker: a packet of an unknown flow, or the end of a known flow.
struct UnknownPacket {
  flow_key key{};
  FlowPacket packet{};
  std::uint32_t ended = FlowTable::kNone;  ///< record of a flow that ends; if set, the other fields are ignored
};

/// Counts packets without account, by reason.
struct Unaccounted {
  std::uint64_t not_ip = 0;
  std::uint64_t malformed = 0;
  std::uint64_t ring_full = 0;  ///< the thread did not keep up
  std::uint64_t table_full = 0;
  std::uint64_t no_place = 0;   ///< too many flows collided in the table, or there was no memory to grow
  std::uint64_t collision = 0;  ///< another flow had the same digest
};

struct EndedFlows {
  std::uint64_t idle = 0, active = 0, ended = 0, forced = 0;
};

/// Holds the state of the accounts for `show` and metrics.
struct AccountsState {
  Settings settings;
  std::size_t flows = 0;  ///< number of open accounts
  std::size_t most = 0;
  std::size_t memory_bytes = 0;
  std::uint64_t opened = 0;
  EndedFlows closed;
  ExportCounters exported;
  Unaccounted unaccounted;
};

class Accounts {
 public:
  /// Returns milliseconds of a steady clock.
  using Clock = std::function<milliseconds()>;

  /// Starts no thread. `grace_periods` must outlive this object. Throws std::system_error if there is no memory for
  /// max_flows flows.
  Accounts(const Settings& settings, GracePeriods& grace_periods, Clock clock, std::size_t workers = 1);
  /// Closes and exports all accounts. No worker may be running.
  ~Accounts();
  Accounts(const Accounts&) = delete;
  Accounts& operator=(const Accounts&) = delete;

  /// Starts to open and close accounts. Throws std::system_error.
  void start();

  // Any worker may call the following functions, with its own index.
  std::uint32_t now() const { return static_cast<std::uint32_t>(clock_().count()); }
  /// Counts a packet. Returns true if the worker must call tell_end().
  [[nodiscard]] bool count_found(std::uint32_t record, const FlowPacket& packet) noexcept {
    return count(table_.record(record), packet);
  }
  void tell_end(std::uint32_t record, std::size_t worker) noexcept;
  void tell(const UnknownPacket& packet, std::size_t worker) noexcept;
  void leave_out(FlowFrame why, std::size_t worker) noexcept;

  // The control thread calls the following functions.
  /// Applies all settings except `max_flows`. Accounts that were closed earlier go to the previous collector. Throws
  /// std::system_error; nothing has changed in that case.
  void change(const Settings& settings);
  AccountsState state() const;
  /// Visits all flows with their counters and record numbers until `visit` returns false. The lock is released after
  /// every group of flows, so that the thread does not wait for long.
  void for_each(const std::function<bool(std::uint32_t record, const ClosedFlow& flow)>& visit) const;

  /// Returns the table that engines read.
  Table& table() { return table_.table(); }

  /// Processes reports on the thread. Without reports, performs the work that depends on the clock.
  void take(std::span<const UnknownPacket> packets);

 private:
  enum WorkerCounter : std::size_t { kNotIp, kMalformed, kRingFull, kWorkerCounters };

  void open_or_count(const UnknownPacket& unknown, milliseconds now);
  void set_deadline(std::uint32_t record, milliseconds now);
  void take_turn(milliseconds now);
  std::optional<EndReason> end_of(const FlowCounts& counts, std::uint32_t now) const;
  void close_what_ended(milliseconds now, std::size_t budget);
  void close(flow_record& record, EndReason reason);
  ClosedFlow describe(flow_record& record, milliseconds now) const;

  const Clock clock_;
  mutable std::mutex mutex_;  ///< taken by the thread and by control threads, not by workers
  Settings settings_;
  mutable FlowTable table_;
  std::uint64_t opened_ = 0;
  EndedFlows closed_;
  ExportCounters exported_;
  Unaccounted unaccounted_;  ///< counted by the thread
  const std::size_t workers_;
  Counters<kWorkerCounters> by_workers_;
  std::unique_ptr<Exporter> exporter_;
  Deadlines deadlines_;                              ///< of open accounts, by record number
  std::unique_ptr<Learner<UnknownPacket>> learner_;  ///< null before start()
};

}  // namespace penumbra::flows
