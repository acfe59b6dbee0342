// SPDX-License-Identifier: Apache-2.0
//
// Selects the copy of a table that a batch reads. Workers select it themselves, without the resident thread. While a
// worker submits, it sets a flag, reads the number of the current copy, and writes it into its slot's line.
//
// After the resident thread has changed the current copy, it makes every thread pass a barrier (membarrier), and waits
// for the workers that were submitting. A copy that is in no line may then be rewritten. Workers therefore need no
// barrier, which would make them wait for their stores, if the kernel of the operating system has membarrier.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cuda/table_copies.h"
#include "penumbra/table.h"

namespace penumbra::cuda_resident {

/// State of a slot in addition to its blocks.
struct SlotLine {
  std::atomic<std::uint32_t> reads{0};   ///< ResidentTable::id() of the copy that its batch reads; 0: none.
  std::atomic<std::uint32_t> number{0};  ///< Number of its last batch.
};

/// Marks the time in which a worker takes a copy and uses it.
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

  /// Makes earlier stores of every thread visible to the caller, and the caller's earlier stores visible to every
  /// thread. Call on the resident thread.
  static void pass_barriers() noexcept;

 private:
  static const bool kHasMembarrier;  ///< True if the operating system has membarrier.

  std::atomic<bool>& flag_;
};

class ResidentTable final : public cuda::TableCopies {
 public:
  /// `index` must be unique per table.
  ResidentTable(Table& table, Doorbell& doorbell, std::uint32_t index) : TableCopies(table, doorbell), index_(index) {}
  ~ResidentTable() override { detach(); }

  // The workers call the following functions.

  /// True if the GPU has the last commit.
  bool is_ready() const noexcept { return state_of(current_.load(std::memory_order_acquire)) >= wanted(); }
  /// A copy and its view. Valid while the worker submits.
  struct Taken {
    const std::byte* view = nullptr;  ///< Null if the GPU lacks the last commit.
    std::uint32_t id = 0;
    std::uint64_t state = 0;  ///< Changes with the view.
  };
  Taken take() const noexcept {
    const std::uint64_t least = wanted();
    const std::uint64_t found = current_.load(std::memory_order_acquire);
    if (found == 0 || state_of(found) < least) return {};
    return {views_[copy_of(found)].data(), id(copy_of(found)), found};
  }

  // The resident thread calls the following functions.

  void end() noexcept override;
  bool has_work() const noexcept override { return TableCopies::has_work() || has_former(); }
  /// Continues the update, and makes the newest state the current one. Returns true if it did anything.
  bool advance() override;
  /// True if a copy must be released as soon as no line has `former()`.
  bool has_former() const noexcept { return former_ != kNone; }
  std::uint32_t former() const noexcept { return id(former_); }
  void give_back_former() noexcept;

 private:
  static constexpr unsigned kNone = 2;  ///< Copies have the numbers 0 and 1.

  static std::uint64_t state_of(std::uint64_t current) noexcept { return current >> 1; }
  static unsigned copy_of(std::uint64_t current) noexcept { return static_cast<unsigned>(current & 1); }
  std::uint32_t id(unsigned copy) const noexcept { return 1 + 2 * index_ + copy; }

  const std::uint32_t index_;
  std::atomic<std::uint64_t> current_{
      0};  ///< Twice the state, plus the number of the copy that has it; 0: no copy has a state.
  std::array<std::vector<std::byte>, 2>
      views_;                ///< Views of the copies. Kept when the device is gone, because a worker may be reading.
  unsigned former_ = kNone;  ///< The copy that was current before, until it is released.
};

/// The tables of an engine. One thread adds tables; any thread may search.
class ResidentTables {
 public:
  static constexpr std::size_t kMost = 64;

  /// Throws std::length_error if there are kMost tables.
  ResidentTable& add(Table& table, Doorbell& doorbell);
  ResidentTable* find(const Table& table) const noexcept {
    for (const auto& each : all()) {
      if (&each->table() == &table) return each.get();
    }
    return nullptr;
  }
  std::span<const std::unique_ptr<ResidentTable>> all() const noexcept {
    return std::span(all_).first(count_.load(std::memory_order_acquire));
  }
  bool are_ready() const noexcept {
    return std::ranges::all_of(all(), [](const auto& each) { return each->is_ready(); });
  }

 private:
  std::array<std::unique_ptr<ResidentTable>, kMost> all_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace penumbra::cuda_resident
