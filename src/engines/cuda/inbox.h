// SPDX-License-Identifier: Apache-2.0
//
// Input queue of the launch thread: a lock-free FIFO with many producers, the workers, and one consumer, the launch
// thread. The algorithm is the bounded queue of D. Vyukov with one consumer.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace penumbra::cuda {

template <class Item>
class Inbox {
 public:
  /// `capacity` must be a power of two.
  explicit Inbox(std::size_t capacity) : mask_(capacity - 1), cells_(std::make_unique<Cell[]>(capacity)) {
    for (std::size_t i = 0; i < capacity; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }

  /// Adds an item; returns false if the queue is full. May be called on any thread.
  bool put(Item* item) noexcept {
    std::size_t at = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[at & mask_];
      const std::size_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn == at) {
        if (!tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
        cell.item = item;
        cell.turn.store(at + 1, std::memory_order_release);
        return true;
      }
      if (turn < at) return false;
      at = tail_.load(std::memory_order_relaxed);
    }
  }

  /// Removes and returns the oldest item, or null. Call on the launch thread only.
  Item* take() noexcept {
    Cell& cell = cells_[head_ & mask_];
    if (cell.turn.load(std::memory_order_acquire) != head_ + 1) return nullptr;
    Item* const item = cell.item;
    cell.turn.store(head_ + mask_ + 1, std::memory_order_release);
    ++head_;
    return item;
  }
  bool empty() const noexcept { return cells_[head_ & mask_].turn.load(std::memory_order_acquire) != head_ + 1; }

 private:
  /// Each cell has its own cache line, so that workers do not share lines with each other or with the launch thread.
  struct alignas(64) Cell {
    std::atomic<std::size_t> turn;  ///< Position that may be filled here; one more if it is filled.
    Item* item = nullptr;
  };

  const std::size_t mask_;
  std::unique_ptr<Cell[]> cells_;
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::size_t head_ = 0;
};

}  // namespace penumbra::cuda
