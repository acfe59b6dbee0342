// SPDX-License-Identifier: Apache-2.0
//
// A table in the GPU's memory. There are two copies of it: look-ups read one while the other is brought up to date by
// copying what changed; then the two change places. A copy is written only while no launch reads it. So a launch sees
// one committed state of the table, the old or the new.
//
// What the GPU gets is read from a copy on the host, the shadow, which holds what was committed last: the owner's
// memory may be half way through a change, and when the GPU comes back after a fault its owner may have nothing to
// announce.
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

class TableCopies final : public TableMirror {
 public:
  /// What one step of bringing a copy up to date moves at most. A commit of more waits until the GPU has it, while
  /// look-ups go on in the state before.
  static constexpr std::size_t kStep = std::size_t{1} << 20;
  /// Ranges up to so many bytes go together, by one kernel; and so many in a step at most.
  static constexpr std::size_t kSmall = 1024, kMostRanges = 2048;

  /// Attaches itself to the table; to be made and destroyed by the thread that publishes. `launch_thread` is rung when
  /// there is something to copy.
  TableCopies(Table& table, Doorbell& launch_thread);
  ~TableCopies() override;

  const Table& table() const { return table_; }

  // The owner's thread.
  void published(std::span<const std::byte> view, std::span<const TableRegion> regions) override;
  void changed(std::size_t region, std::size_t offset, std::size_t bytes) override;
  void committed() override;

  // The launch_thread's thread.

  /// The device is there: copies are made in it, on this stream. If a step of that takes longer than `patience`,
  /// advance() throws a final DeviceError.
  void begin(Device& device, unsigned stream, std::chrono::milliseconds patience = std::chrono::seconds(2));
  /// It is lost or closed: nobody waits for it any more. What launches still read is the device's memory.
  void end() noexcept;
  /// What the device reads of the host's.
  std::shared_ptr<const HugeMemory> staging() const { return staging_; }
  /// Goes on with what has to be copied, as far as that goes without waiting. Whether it did anything.
  bool advance();
  /// Whether there is something to copy.
  bool has_work() const noexcept { return behind_.load(std::memory_order_acquire); }
  /// The state that a batch has to see that was submitted before this call.
  std::uint64_t wanted() const noexcept { return wanted_.load(std::memory_order_acquire); }
  /// Whether the current copy is of that state or a later one.
  bool shows(std::uint64_t state) const noexcept { return valid_ && copies_[current_].state >= state; }
  /// The state that the current copy is of; 0: of none.
  std::uint64_t state() const noexcept { return valid_ ? copies_[current_].state : 0; }
  /// The current copy, until the same number is left(); and its view.
  unsigned enter() noexcept;
  void leave(unsigned copy) noexcept { --copies_[copy].users; }
  const void* view(unsigned copy) const noexcept { return copies_[copy].view.data(); }
  std::size_t view_bytes(unsigned copy) const noexcept { return copies_[copy].view.size(); }

 private:
  struct Range {
    std::size_t region = 0, begin = 0, end = 0;
  };
  /// Ranges that a copy lacks.
  class Ranges {
   public:
    void add(const Range& range);
    void clear();
    /// Sorts them and joins near ones.
    void join();
    bool empty() const { return ranges_.empty(); }
    /// Whether one step takes them all.
    bool fit_a_step() const { return weight_ <= kStep; }
    std::vector<Range>& all() { return ranges_; }
    /// Takes up to `most` bytes off the last one.
    Range take(std::size_t most);

   private:
    static std::size_t weight(const Range& range);
    std::vector<Range> ranges_;
    std::size_t weight_ = 0;
  };
  struct Copy {
    std::vector<std::byte*> regions;
    std::vector<std::size_t> bytes;  ///< of each region
    std::vector<std::byte> view;
    std::uint64_t state = 0;
    Ranges lacks;
    unsigned users = 0;  ///< launches in flight
  };
  enum class Step : std::uint8_t { none, part, last, catch_up };

  void commit(std::unique_lock<std::mutex>& lock);
  void end_step();
  bool begin_step();
  void catch_up(Copy& spare, const Copy& current);
  void copy_what_is_lacking(Copy& spare);
  void fit(Copy& copy);
  void lack_everything(Ranges& lacks) const;

  Table& table_;
  Doorbell& launch_thread_;
  Ranges announced_;                  ///< since the last commit; the owner's
  std::vector<TableRegion> sources_;  ///< likewise
  std::atomic<std::uint64_t> wanted_{0};
  std::atomic<bool> behind_{false};

  std::mutex mutex_;  ///< what follows is shared by owner and launch_thread
  std::condition_variable state_or_end_;
  std::vector<HugeMemory> shadow_;
  std::vector<std::size_t> shadow_bytes_, pointer_offsets_;
  std::vector<std::byte> shadow_view_;
  std::uint64_t committed_ = 0;  ///< states so far; the shadow is of the last one
  bool live_ = false;            ///< between begin() and end()
  std::array<Copy, 2>
      copies_;  ///< of these only `lacks`, and `state` while it changes; the rest is the launch_thread's
  unsigned current_ = 0;
  bool valid_ = false;  ///< the current copy is of some state

  Device* device_ = nullptr;
  unsigned stream_ = 0;
  std::shared_ptr<HugeMemory> staging_;
  std::span<CopyRange> copies_to_make_;  ///< at its end
  Step step_ = Step::none;
  std::chrono::milliseconds patience_{0};
  std::chrono::steady_clock::time_point step_began_;
};

}  // namespace penumbra::cuda
