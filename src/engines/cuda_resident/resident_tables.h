// SPDX-License-Identifier: Apache-2.0
//
// Which copy of a table a batch reads. Workers name it themselves, without the thread: while a worker submits it says
// so, looks which copy is the current one, and writes that down in its slot's line. When the thread has made another
// copy the current one, it has every thread pass a barrier (membarrier), waits for those that were submitting, and from
// then on a copy that no line has is free to be rewritten. So workers need no barrier of their own, which would have
// them wait for their stores, where the kernel has that call.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/table_copies.h"
#include "penumbra/table.h"

namespace penumbra::cuda_resident {

/// What is known of a slot beside its blocks.
struct SlotLine {
  std::atomic<std::uint32_t> reads{0};   ///< the copy that its batch reads, as ResidentTable::id(); 0: none
  std::atomic<std::uint32_t> number{0};  ///< of its last batch
};

/// Around what a worker does with a copy that it took.
class Submitting {
 public:
  explicit Submitting(std::atomic<bool>& flag) noexcept : flag_(flag) {
    flag_.store(true, std::memory_order_relaxed);
    if (kHasMembarrier) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }
  ~Submitting() { flag_.store(false, std::memory_order_release); }
  Submitting(const Submitting&) = delete;
  Submitting& operator=(const Submitting&) = delete;

  /// The thread: every thread's stores before are seen by what follows, and the other way round.
  static void pass_barriers() noexcept;

 private:
  static const bool kHasMembarrier;  ///< the operating system has membarrier

  std::atomic<bool>& flag_;
};

class ResidentTable {
 public:
  /// `index` is another one for each table.
  ResidentTable(Table& table, Doorbell& doorbell, std::uint32_t index) : copies_(table, doorbell), index_(index) {}

  const Table& table() const { return copies_.table(); }

  // Workers.

  /// Whether the GPU has all that was committed.
  bool is_ready() const noexcept { return state_of(current_.load(std::memory_order_acquire)) >= copies_.wanted(); }
  /// A copy and its view, while the worker submits.
  struct Taken {
    const std::byte* view = nullptr;  ///< null: the GPU does not have yet what was committed
    std::uint32_t id = 0;
    std::uint64_t state = 0;  ///< another one whenever the view is
  };
  Taken take() const noexcept {
    const std::uint64_t wanted = copies_.wanted();
    const std::uint64_t found = current_.load(std::memory_order_acquire);
    if (found == 0 || state_of(found) < wanted) return {};
    return {views_[copy_of(found)].data(), id(copy_of(found)), found};
  }

  // The thread.

  /// The two parts of copying, see TableCopies.
  void begin(cuda::Device& device, unsigned stream, std::chrono::milliseconds patience) {
    copies_.begin(device, stream, patience);
  }
  void end() noexcept;
  std::shared_ptr<const HugeMemory> staging() const { return copies_.staging(); }
  bool has_work() const noexcept { return copies_.has_work() || has_former(); }
  /// Goes on with copying, and makes the newest state the one to be read.
  bool advance();
  /// Whether there is a copy that is to be given back as soon as no line has `former()`.
  bool has_former() const noexcept { return former_ != kNone; }
  std::uint32_t former() const noexcept { return id(former_); }
  void give_back_former() noexcept;

 private:
  static constexpr unsigned kNone = 2;  ///< of two copies

  static std::uint64_t state_of(std::uint64_t current) noexcept { return current >> 1; }
  static unsigned copy_of(std::uint64_t current) noexcept { return static_cast<unsigned>(current & 1); }
  std::uint32_t id(unsigned copy) const noexcept { return 1 + 2 * index_ + copy; }

  cuda::TableCopies copies_;
  const std::uint32_t index_;
  std::atomic<std::uint64_t> current_{0};  ///< twice the state, and which copy has it; 0: none has any
  std::array<std::vector<std::byte>, 2>
      views_;                ///< of each copy, kept when the device is gone: a worker may be reading
  unsigned former_ = kNone;  ///< the copy that was the current one before, until it is given back
};

/// The tables of an engine: one thread adds, any looks.
class ResidentTables {
 public:
  static constexpr std::size_t kMost = 64;

  /// Throws std::length_error beyond kMost.
  ResidentTable& add(Table& table, Doorbell& doorbell);
  ResidentTable* find(const Table& table) const noexcept {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
      if (&all_[i]->table() == &table) return all_[i].get();
    }
    return nullptr;
  }
  bool are_ready() const noexcept {
    const std::size_t count = count_.load(std::memory_order_acquire);
    return std::all_of(all_.begin(), all_.begin() + count, [](const auto& each) { return each->is_ready(); });
  }

 private:
  std::array<std::unique_ptr<ResidentTable>, kMost> all_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace penumbra::cuda_resident
