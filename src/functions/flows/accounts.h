// SPDX-License-Identifier: Apache-2.0
//
// The account of all flows: workers count packets of flows that they find, and tell one thread of the others and of
// FINs and RSTs. That thread opens accounts, closes them by the clock and exports them.
//
// No packet is lost from the account but those that are counted as such. A packet that was told is counted by the
// thread, whether its flow is new then or was told before by another packet. A flow that is closed is first made
// unfindable; its record is exported when a grace period has elapsed, and so with what workers have counted that had
// found it before. Its next packet opens another account.
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

#include "functions/flows/deadlines.h"
#include "functions/flows/exporter.h"
#include "functions/flows/settings.h"
#include "functions/learning/learner.h"
#include "tables/flows/flow_packet.h"
#include "tables/flows/flow_table.h"

namespace penumbra::flows {

/// What a worker tells: a packet of a flow that was not found, or that a flow's end has been seen.
struct UnknownPacket {
  flow_key key{};
  FlowPacket packet{};
  std::uint32_t ended = FlowTable::kNone;  ///< the record of a flow that ends; then the rest does not count
};

/// Packets that are in no account, by why.
struct Unaccounted {
  std::uint64_t not_ip = 0;
  std::uint64_t malformed = 0;
  std::uint64_t ring_full = 0;  ///< the thread did not keep up
  std::uint64_t table_full = 0;
  std::uint64_t no_place = 0;   ///< too many flows met in the table, or there was no memory to grow into
  std::uint64_t collision = 0;  ///< another flow had the same digest
};

struct EndedFlows {
  std::uint64_t idle = 0, active = 0, ended = 0, forced = 0;
};

/// What shows how the accounts go.
struct AccountsState {
  Settings settings;
  std::size_t flows = 0;  ///< open accounts
  std::size_t most = 0;
  std::size_t memory_bytes = 0;
  std::uint64_t opened = 0;
  EndedFlows closed;
  ExportCounters exported;
  Unaccounted unaccounted;
};

class Accounts {
 public:
  /// Milliseconds of a steady clock.
  using Clock = std::function<milliseconds()>;

  /// No thread yet. `grace_periods` outlives it. Throws std::system_error if there is no memory for so many flows.
  Accounts(const Settings& settings, GracePeriods& grace_periods, Clock clock);
  /// No worker is left. Closes and exports all accounts.
  ~Accounts();
  Accounts(const Accounts&) = delete;
  Accounts& operator=(const Accounts&) = delete;

  /// Begins to open and close accounts. Throws std::system_error.
  void start();

  // Any worker.
  std::uint32_t now() const { return static_cast<std::uint32_t>(clock_().count()); }
  /// True if the thread is to be told that the flow ends.
  [[nodiscard]] bool count_found(std::uint32_t record, const FlowPacket& packet) noexcept {
    return count(table_.record(record), packet);
  }
  void tell_end(std::uint32_t record) noexcept;
  void tell(const UnknownPacket& packet, std::size_t worker) noexcept;
  void leave_out(FlowFrame why, std::size_t worker) noexcept;

  // The control thread.
  /// Takes over all but `max_flows`; what was closed before goes where it went before. Throws std::system_error, and
  /// then nothing has changed.
  void change(const Settings& settings);
  AccountsState state() const;
  /// Visits flows with what is counted of them and their records' numbers, some at a time, so that the thread does not
  /// wait for long, until `visit` returns false.
  void for_each(const std::function<bool(std::uint32_t record, const ClosedFlow& flow)>& visit) const;

  /// What engines read.
  Table& table() { return table_.table(); }

  /// What the thread does with what it is told, and, with nothing, what it does by the clock.
  void take(std::span<const UnknownPacket> packets);

 private:
  /// A worker's counters, or those of a few.
  struct alignas(64) WorkerCounters {
    std::atomic<std::uint64_t> not_ip{0}, malformed{0}, ring_full{0};
  };
  static constexpr std::size_t kWorkerCounters = 32;

  void open_or_count(const UnknownPacket& unknown, milliseconds now);
  void set_deadline(std::uint32_t record, milliseconds now);
  void take_turn(milliseconds now);
  std::optional<EndReason> end_of(const FlowCounts& counts, std::uint32_t now) const;
  void close_what_ended(milliseconds now, std::size_t budget);
  void close(flow_record& record, EndReason reason);
  ClosedFlow describe(flow_record& record, milliseconds now) const;

  const Clock clock_;
  mutable std::mutex mutex_;  ///< the thread and who shows or changes; no worker
  Settings settings_;
  mutable FlowTable table_;
  std::uint64_t opened_ = 0;
  EndedFlows closed_;
  ExportCounters exported_;
  Unaccounted unaccounted_;  ///< by the thread
  std::array<WorkerCounters, kWorkerCounters> by_workers_;
  std::unique_ptr<Exporter> exporter_;
  Deadlines deadlines_;                              ///< of open accounts, by their records
  std::unique_ptr<Learner<UnknownPacket>> learner_;  ///< none before start()
};

}  // namespace penumbra::flows
