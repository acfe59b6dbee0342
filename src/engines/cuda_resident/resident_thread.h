// SPDX-License-Identifier: Apache-2.0
//
// The single thread that talks to the GPU for the engine `cuda-resident`. The thread starts the kernel, updates tables
// while the kernel runs, and watches the groups. The thread ends the kernel while memory is allocated or freed; batches
// in slots wait meanwhile. Batches do not pass through this thread: workers and groups share the slots.
//
// After a GPU failure, or if a group shows no sign of life, workers take their batches back and run them on the CPU.
// The thread tries to open the device again every second, unless the failure is final.
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

#include "cuda/kernel_pause.h"
#include "cuda_resident/device.h"
#include "cuda_resident/resident_tables.h"
#include "cuda_resident/slots.h"
#include "offload/device_owner.h"

namespace penumbra::cuda_resident {

struct ResidentOptions {
  std::uint32_t slots = 16;                     ///< Slots of a worker.
  std::uint32_t threads = 128;                  ///< Threads of a group; rounded up to whole warps.
  std::uint32_t blocks = 256;                   ///< Most groups, up to kMostSlots.
  std::uint32_t before_first = 0;               ///< Number before that of each slot's first batch.
  std::chrono::milliseconds patience{2000};     ///< Time limit of a group, after which the GPU counts as failed.
  std::chrono::milliseconds retry_after{1000};  ///< Time from a failure to the next attempt to open the device.
};

class ResidentThread final : public offload::DeviceOwner {
 public:
  /// Uses device `index` of `backend`, which must outlive this object.
  ResidentThread(const Backend& backend, unsigned index, ResidentOptions options);
  /// No row may be left.
  ~ResidentThread() override;

  const Backend& backend() const { return backend_; }

  // Call the following functions on any thread; they wait for the resident thread.

  /// Returns slots for a worker. Throws std::runtime_error if no block is left.
  std::shared_ptr<SlotRow> add_row();
  void remove(const SlotRow& row);
  using DeviceOwner::add;
  void add(Table& table);
  /// Waits until the kernel serves the row and has all tables, until the GPU fails, or until the patience is over.
  void settle(const SlotRow& row) const;

  // The workers call the following functions.

  const ResidentTables& tables() const noexcept { return resident_tables_; }
  /// Returns how often slots had to be cleared: the device was opened, or a pause took too long. Only slots that are
  /// cleared for this generation are served.
  std::uint32_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  /// Call when a row has been cleared, or a service waits on it.
  void ring() noexcept { doorbell_.ring(); }

  /// Returns the state and statistics, one line each. May be called on any thread.
  std::vector<std::string> notes() const;

 private:
  static constexpr unsigned kTableStream = 0;

  /// Last observation of a group, and the time of its last changes.
  struct Watch {
    const SlotRow* row = nullptr;
    std::uint32_t slot = 0;
    std::uint32_t beat = 0, number = 0;
    Clock::time_point beaten, answered;
  };

  bool turn() override;
  bool has_nothing_to_do() const override;
  std::shared_ptr<cuda::Device> open_device() override;
  void begin_work() override;
  void quieten() override;
  void stop_work() noexcept override { is_lost_.store(true, std::memory_order_release); }
  void end_kernel() override { pause(); }
  unsigned copy_stream() const override { return kTableStream; }
  void abandon_device(const std::string& reason) noexcept override { device_->abandon(reason); }
  void wait_for_answers() noexcept override;
  void end_work() noexcept override;

  bool give_back_copies();
  bool is_read(std::uint32_t copy) const noexcept;
  void resume();
  void pause();
  bool is_fresh(const SlotRow& row) const noexcept;
  bool has_rows_to_serve() const noexcept;
  bool has_unserved_rows() const noexcept;
  void watch();
  void wake_services() noexcept;
  bool look_at(std::size_t group, Clock::time_point now);
  const char* why_stuck(const Watch& group, Clock::time_point now) const;
  void watch_groups(Clock::time_point now);
  void watch_pause(Clock::time_point now);

  const Backend& backend_;
  const unsigned index_;
  const ResidentOptions options_;
  const std::uint32_t whole_warps_;

  cuda::ResidentKernel kernel_{doorbell_};
  ResidentTables resident_tables_;
  std::atomic<std::uint32_t> generation_{0};
  std::atomic<bool> is_lost_{false};

  // Used on the resident thread only.
  ResidentDevice* device_ = nullptr;  ///< The device of memory_. Valid while there is one, or while the kernel runs.
  const std::shared_ptr<offload::SharedRange> roster_ =
      std::make_shared<offload::SharedRange>(std::make_shared<HugeMemory>(sizeof(Roster)), true);
  std::vector<std::shared_ptr<SlotRow>> rows_;  ///< Written with words_mutex_, for notes().
  std::vector<Watch> watches_;
  Clock::time_point watched_, paused_;
  std::uint32_t groups_;                        ///< Most groups; not more than the GPU that was opened last holds.
  bool runs_ = false, is_told_to_end_ = false;  ///< State of the kernel.

  // Guarded by words_mutex_.
  std::uint64_t by_gpu_ = 0, by_cpu_ = 0, given_up_ = 0;  ///< Batches of rows that were removed.
};

}  // namespace penumbra::cuda_resident
