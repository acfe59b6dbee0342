// SPDX-License-Identifier: Apache-2.0
//
// The one thread that talks to the GPU for the engine `cuda-resident`. It starts the kernel, brings tables up to date
// beside it, sees that the groups live, and ends the kernel for the moments in which memory is taken or given back:
// what stands in a slot waits meanwhile. Batches pass it by: workers and groups have their slots between them.
//
// When the GPU fails, or a group gives no sign of life, workers take their batches back and run them on the CPU, until
// the thread has opened the device anew. It tries every second, unless the failure is final.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cuda/device_thread.h"
#include "cuda/kernel_pause.h"
#include "cuda/quiet_memory.h"
#include "cuda_resident/device.h"
#include "cuda_resident/resident_tables.h"
#include "cuda_resident/slots.h"

namespace penumbra::cuda_resident {

struct ResidentOptions {
  std::uint32_t slots = 16;                     ///< of a worker
  std::uint32_t threads = 128;                  ///< of a group; whole warps
  std::uint32_t blocks = 256;                   ///< groups at most, up to kMostSlots
  std::uint32_t before_first = 0;               ///< the number before each slot's first batch's
  std::chrono::milliseconds patience{2000};     ///< with a group, until the GPU counts as lost
  std::chrono::milliseconds retry_after{1000};  ///< since it was lost
};

class ResidentThread final : public cuda::DeviceThread {
 public:
  /// Of this device of the backend's, which outlives it.
  ResidentThread(const Backend& backend, unsigned index, ResidentOptions options);
  /// No row may be left.
  ~ResidentThread() override;

  const Backend& backend() const { return backend_; }

  // Any thread; these wait for the thread.

  /// Slots for a worker. Throws std::runtime_error when no block is left.
  std::shared_ptr<SlotRow> add_row();
  void remove(const SlotRow& row);
  /// Lets the GPU reach host memory, as often unshared as shared.
  std::shared_ptr<SharedRange> share(std::shared_ptr<const HugeMemory> host);
  void unshare(SharedRange& range);
  void add(Table& table);
  /// Waits until the kernel serves the row and has all tables, or the GPU is lost; not longer than its patience.
  void settle(const SlotRow& row) const;

  // Workers.

  const ResidentTables& tables() const noexcept { return tables_; }
  /// How often slots had to be wiped anew so far: the device was opened, or a pause took too long. Only slots that
  /// are fresh for this generation are served.
  std::uint32_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  /// A row is fresh.
  void ring() noexcept { doorbell_.ring(); }

  /// What it works on and what was done, a line each. Any thread.
  std::vector<std::string> notes() const;
  /// Of the GPU that was opened last; empty: none was.
  std::string device_name() const;

 private:
  static constexpr unsigned kTableStream = 0;  ///< of the device's

  /// What was seen of a group, and when it last changed.
  struct Watch {
    const SlotRow* row = nullptr;
    std::uint32_t slot = 0;
    std::uint32_t beat = 0, number = 0;
    Clock::time_point beaten, answered;
  };

  void open() override;
  bool turn() override;
  bool has_nothing_to_do() const override;
  void lose(const DeviceError& error) override;
  void close() override;

  bool advance_tables();
  bool is_read(std::uint32_t copy) const noexcept;
  void reach(SharedRange& range);
  void let_go(SharedRange& range) noexcept;
  void drop(SharedRange& range);
  void begin(ResidentTable& table);
  void resume();
  void pause();
  void quieten();
  bool is_fresh(const SlotRow& row) const noexcept;
  bool has_rows_to_serve() const noexcept;
  bool has_unserved_rows() const noexcept;
  void watch();
  bool look_at(std::size_t group, Clock::time_point now);
  const char* why_stuck(const Watch& group, Clock::time_point now) const;
  void watch_groups(Clock::time_point now);
  void wait_for_answers() noexcept;
  void watch_pause(Clock::time_point now);

  const Backend& backend_;
  const unsigned index_;
  const ResidentOptions options_;
  const std::uint32_t whole_warps_;

  cuda::ResidentKernel kernel_{doorbell_};
  ResidentTables tables_;
  std::atomic<std::uint32_t> generation_{0};
  std::atomic<bool> is_lost_{false};

  // The thread's own.
  std::unique_ptr<ResidentDevice> device_;
  std::unique_ptr<cuda::QuietMemory> memory_;
  const std::shared_ptr<HugeMemory> roster_ = std::make_shared<HugeMemory>(sizeof(Roster));
  const Roster* seen_roster_ = nullptr;
  std::vector<std::shared_ptr<SharedRange>> ranges_;
  std::vector<std::shared_ptr<SlotRow>> rows_;
  std::vector<ResidentTable*> added_tables_;
  std::vector<Watch> watches_;
  Clock::time_point watched_, paused_;
  std::uint32_t groups_;                        ///< at most: no more than the GPU that was opened last holds
  bool runs_ = false, is_told_to_end_ = false;  ///< the kernel
  bool is_final_ = false;
  Clock::time_point retry_at_;

  mutable std::mutex words_mutex_;  ///< also of the list of rows, for notes()
  std::string name_, failure_;
  std::uint64_t by_gpu_ = 0, by_cpu_ = 0, given_up_ = 0;  ///< of rows that are gone
};

}  // namespace penumbra::cuda_resident
