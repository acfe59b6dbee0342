// SPDX-License-Identifier: Apache-2.0
//
// A table in GPU memory, in two copies. Look-ups read one copy while changes are written to the other; then the two are
// swapped. A copy is written only while no launch reads it, so a launch sees one committed state of the table, the old
// or the new.
//
// The GPU is updated from a host copy, the shadow, which holds the last committed state. The owner's memory may be in
// the middle of a change. After a device failure the owner may have no change to announce.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/doorbell.h"
#include "cuda/device.h"
#include "penumbra/huge_memory.h"
#include "penumbra/table.h"

namespace penumbra::cuda {

class TableCopies : public TableMirror {
 public:
  /// Most bytes that one step of an update moves. A commit of more bytes waits until the GPU has them, while look-ups
  /// continue on the state before.
  static constexpr std::size_t kStep = std::size_t{1} << 20;
  /// Ranges of up to kSmall bytes are copied together by one kernel; a step has at most kMostRanges ranges.
  static constexpr std::size_t kSmall = 1024, kMostRanges = 2048;

  /// Attaches itself to the table. Call on the thread that publishes. The doorbell `launch_thread` rings when there is
  /// something to copy. The destructor may run on any thread, while the owner makes changes.
  TableCopies(Table& table, Doorbell& launch_thread);
  ~TableCopies() override;

  const Table& table() const { return table_; }

  // Call on the owner's thread.
  void published(std::span<const std::byte> view, std::span<const TableRegion> regions) override;
  void changed(std::size_t region, std::size_t offset, std::size_t bytes) override;
  void committed() override;

  // Call on the launch thread.

  /// Starts to maintain copies on `device`, on `stream`. If a step takes longer than `patience`, advance() throws a
  /// final DeviceError.
  void begin(Device& device, unsigned stream, std::chrono::milliseconds patience = std::chrono::seconds(2));
  /// Overwrites the copies of a secret table. Call before end() if the device works and no launch is in flight. Throws
  /// DeviceError.
  void erase_secrets();
  /// Call when the device has failed or is closed; releases waiting owners. Memory that launches still read belongs to
  /// the device.
  virtual void end() noexcept;
  /// Returns the host memory that the device reads.
  std::shared_ptr<const HugeMemory> staging() const { return staging_; }
  /// Continues the update as far as possible without waiting. Returns true if it did anything.
  virtual bool advance();
  /// True if there is something to copy.
  virtual bool has_work() const noexcept { return behind_.load(std::memory_order_acquire); }
  /// Returns the state that a batch must see which was submitted before this call.
  std::uint64_t wanted() const noexcept { return wanted_.load(std::memory_order_acquire); }
  /// True if the current copy has `state` or a later state.
  bool shows(std::uint64_t state) const noexcept { return valid_ && copies_[current_].state >= state; }
  /// Returns the state of the current copy; 0 if it has none.
  std::uint64_t state() const noexcept { return valid_ ? copies_[current_].state : 0; }
  /// Returns the current copy and protects it from writes until leave() is called with its number. view() returns its
  /// view.
  unsigned enter() noexcept;
  void leave(unsigned copy) noexcept { --copies_[copy].users; }
  const void* view(unsigned copy) const noexcept { return copies_[copy].view.data(); }
  std::size_t view_bytes(unsigned copy) const noexcept { return copies_[copy].view.size(); }

 protected:
  /// Call in the destructor of a derived class, so that the owner does not call an object that is in part destroyed.
  void detach() { table_.detach(*this); }

 private:
  struct Range {
    std::size_t region = 0, begin = 0, end = 0;
  };
  /// Ranges that a copy lacks.
  class Ranges {
   public:
    void add(const Range& range);
    void clear();
    /// Sorts the ranges and joins near ones.
    void join();
    bool empty() const { return ranges_.empty(); }
    /// True if one step copies them all.
    bool fit_a_step() const { return weight_ <= kStep; }
    std::vector<Range>& all() { return ranges_; }
    /// Removes up to `most` bytes from the last range and returns them.
    Range take(std::size_t most);

   private:
    static std::size_t weight(const Range& range);
    std::vector<Range> ranges_;
    std::size_t weight_ = 0;
  };
  struct Copy {
    std::vector<std::byte*> regions;
    std::vector<std::size_t> bytes;  ///< Sizes of the regions.
    std::vector<std::byte> view;
    std::uint64_t state = 0;
    Ranges lacks;
    unsigned users = 0;  ///< Launches in flight.
  };
  enum class Step : std::uint8_t { none, part, last, catch_up };

  void commit(std::unique_lock<std::mutex>& lock);
  void end_step();
  bool begin_step();
  void catch_up(Copy& spare, const Copy& current);
  void copy_what_is_lacking(Copy& spare);
  void fit(Copy& copy);
  void lack_everything(Ranges& lacks) const;
  void erase_regions(const Copy& copy);
  void replace_shadow(std::size_t region, std::size_t bytes);

  Table& table_;
  Doorbell& launch_thread_;
  Ranges announced_;                  ///< Changes since the last commit. Used on the owner's thread only.
  std::vector<TableRegion> sources_;  ///< Sources of the regions. Used on the owner's thread only.
  std::atomic<std::uint64_t> wanted_{0};
  std::atomic<bool> behind_{false};

  std::mutex mutex_;  ///< Guards the following members, which owner and launch thread share.
  std::condition_variable state_or_end_;
  std::vector<HugeMemory> shadow_;
  std::vector<std::size_t> shadow_bytes_, pointer_offsets_;
  std::vector<std::byte> shadow_view_;
  std::uint64_t committed_ = 0;  ///< Number of committed states; the shadow has the last one.
  bool live_ = false;            ///< True between begin() and end().
  std::array<Copy, 2>
      copies_;  ///< The mutex guards `lacks`, and `state` while it changes; the rest belongs to the launch thread.
  unsigned current_ = 0;
  bool valid_ = false;  ///< True if the current copy has a state.

  Device* device_ = nullptr;
  unsigned stream_ = 0;
  std::shared_ptr<HugeMemory> staging_;
  std::span<CopyRange> copies_to_make_;  ///< At the end of staging_.
  Step step_ = Step::none;
  std::chrono::milliseconds patience_{0};
  std::chrono::steady_clock::time_point step_began_;
};

}  // namespace penumbra::cuda
