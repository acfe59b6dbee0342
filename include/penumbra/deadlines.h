// SPDX-License-Identifier: Apache-2.0
//
// Schedules timeouts of a function's entries, with a timing wheel of one level (G. Varghese, T. Lauck: Hashed and
// Hierarchical Timing Wheels, SOSP 1987). Setting or reaching a deadline costs a few memory accesses. The cost depends
// neither on the number of entries nor on their timeouts. FunctionWorker::tick() calls take_due() and returns next().
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "penumbra/huge_memory.h"

namespace penumbra {

/// Holds deadlines of numbers from 1. Each number has at most one deadline. Only one thread at a time may use this
/// class. Times are of any clock that does not go back.
class Deadlines {
 public:
  using Time = std::chrono::nanoseconds;
  static constexpr std::int64_t kSlots = 4096;
  /// memory of each number, bytes
  static constexpr std::size_t kBytes = 8;

  /// Supports the numbers 1 to `most`. A deadline is reached at most `step` late, and never early. Throws
  /// std::system_error if there is no address space.
  Deadlines(std::size_t most, Time now, Time step)
      : links_(most + 1 + kSlots), slots_(static_cast<std::uint32_t>(most + 1)), step_length_(step), step_(now / step) {
    for (std::uint32_t slot = slots_; slot < slots_ + kSlots; ++slot) links_[slot] = {.next = slot, .previous = slot};
  }

  /// Sets or replaces the deadline of a number. A deadline more than kSlots - 1 steps ahead is reached after that many
  /// steps. The visitor must then set it again.
  void put(std::uint32_t number, Time deadline) {
    if (links_[number].next != kNone) unlink(number);
    const std::int64_t due = (deadline + step_length_ - Time(1)) / step_length_;
    link_before(slot_of(std::clamp(due, step_, step_ + kSlots - 1)), number);
  }
  /// Removes the deadline of a number, if it has one.
  void remove(std::uint32_t number) {
    if (links_[number].next != kNone) unlink(number);
  }

  /// Calls `visit` with up to `budget` numbers whose deadlines are reached, and removes their deadlines. `visit` may
  /// call put() and remove(). Returns the number of calls.
  template <class Visit>
  std::size_t take_due(Time now, std::size_t budget, Visit visit) {
    std::size_t taken = 0;
    for (const std::int64_t last = now / step_length_; step_ <= last; ++step_) {
      const std::uint32_t slot = slot_of(step_);
      for (; links_[slot].next != slot; ++taken) {
        if (taken == budget) return taken;
        const std::uint32_t number = links_[slot].next;
        unlink(number);
        visit(number);
      }
    }
    return taken;
  }

  /// Returns the time at which take_due() should be called next, or the largest time if no number has a deadline.
  Time next() {
    for (std::int64_t step = step_; step < step_ + kSlots;) {
      const std::int64_t index = step % kSlots;
      std::uint64_t& word = used_[static_cast<std::size_t>(index / kWordBits)];
      const std::uint64_t ahead = word >> index % kWordBits;
      if (ahead == 0) {
        step += kWordBits - index % kWordBits;
        continue;
      }
      step += std::countr_zero(ahead);
      const std::uint32_t slot = slot_of(step);
      if (links_[slot].next != slot) return step_length_ * step;
      word &= ~(std::uint64_t{1} << step % kSlots % kWordBits);  // unlink() leaves the bit of an empty slot
    }
    return Time::max();
  }

  /// Makes all deadlines due immediately.
  void bring_forward() {
    const std::uint32_t now = slot_of(step_);
    for (std::uint32_t slot = slots_; slot < slots_ + kSlots; ++slot) {
      Link& list = links_[slot];
      if (slot == now || list.next == slot) continue;
      const std::uint32_t end = links_[now].previous;
      links_[end].next = list.next;
      links_[list.next].previous = end;
      links_[list.previous].next = now;
      links_[now].previous = list.previous;
      list = {.next = slot, .previous = slot};
      mark(now);
    }
  }

 private:
  static constexpr std::uint32_t kNone = 0;
  static constexpr std::int64_t kWordBits = 64;
  /// Represents a node of a circular list. Each list has the numbers of a slot and the slot itself. Slots are numbered
  /// after all numbers.
  struct Link {
    std::uint32_t next;  ///< kNone if a number has no deadline
    std::uint32_t previous;
  };
  static_assert(sizeof(Link) == kBytes);

  std::uint32_t slot_of(std::int64_t step) const { return slots_ + static_cast<std::uint32_t>(step % kSlots); }
  void mark(std::uint32_t slot) {
    const std::uint32_t index = slot - slots_;
    used_[index / kWordBits] |= std::uint64_t{1} << index % kWordBits;
  }
  void link_before(std::uint32_t slot, std::uint32_t number) {
    const std::uint32_t last = links_[slot].previous;
    links_[number] = {.next = slot, .previous = last};
    links_[last].next = links_[slot].previous = number;
    mark(slot);
  }
  void unlink(std::uint32_t number) {
    Link& link = links_[number];
    links_[link.previous].next = link.next;
    links_[link.next].previous = link.previous;
    link = {.next = kNone, .previous = kNone};
  }

  HugeArray<Link> links_;                                 ///< nodes of numbers, and from slots_ on of slots
  std::array<std::uint64_t, kSlots / kWordBits> used_{};  ///< a bit for each slot; set if the slot may have numbers
  const std::uint32_t slots_;
  const Time step_length_;
  std::int64_t step_;  ///< step of the slot that take_due() processes next
};

}  // namespace penumbra
