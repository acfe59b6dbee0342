// SPDX-License-Identifier: Apache-2.0
//
// Schedules the checks of open accounts with a timing wheel of one level (G. Varghese, T. Lauck: Hashed and
// Hierarchical Timing Wheels, SOSP 1987). Setting or reaching a deadline costs a few memory accesses. The cost depends
// neither on the number of accounts nor on their timeouts.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "penumbra/huge_memory.h"

namespace penumbra::flows {

using std::chrono::milliseconds;

/// Holds deadlines of numbers from 1. Each number has at most one deadline. Only one thread at a time may use this
/// class.
class Deadlines {
 public:
  /// A deadline is reached at most this late, and never early.
  static constexpr milliseconds kStep{10};
  /// memory of each number, bytes
  static constexpr std::size_t kBytes = 8;

  /// Supports the numbers 1 to `most`. Throws std::system_error if there is no address space.
  Deadlines(std::size_t most, milliseconds now)
      : links_(most + 1 + kSlots), slots_(static_cast<std::uint32_t>(most + 1)), step_(now / kStep) {
    for (std::uint32_t slot = slots_; slot < slots_ + kSlots; ++slot) links_[slot] = {.next = slot, .previous = slot};
  }

  /// Sets or replaces the deadline of a number. A deadline more than 40 s ahead is reached after about 40 s. The
  /// visitor must then set it again.
  void put(std::uint32_t number, milliseconds deadline) {
    if (links_[number].next != kNone) unlink(number);
    const std::int64_t due = (deadline + kStep - milliseconds(1)) / kStep;
    link_before(slot_of(std::clamp(due, step_, step_ + kSlots - 1)), number);
  }

  /// Calls `visit` with up to `budget` numbers whose deadlines are reached, and removes their deadlines. `visit` may
  /// call put(). Returns the number of calls.
  template <class Visit>
  std::size_t take_due(milliseconds now, std::size_t budget, Visit visit) {
    std::size_t taken = 0;
    for (const std::int64_t last = now / kStep; step_ <= last; ++step_) {
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
    }
  }

 private:
  static constexpr std::uint32_t kNone = 0;
  static constexpr std::int64_t kSlots = 4096;
  /// Represents a node of a circular list. Each list has the numbers of a slot and the slot itself. Slots are numbered
  /// after all numbers.
  struct Link {
    std::uint32_t next;  ///< kNone if a number has no deadline
    std::uint32_t previous;
  };
  static_assert(sizeof(Link) == kBytes);

  std::uint32_t slot_of(std::int64_t step) const { return slots_ + static_cast<std::uint32_t>(step % kSlots); }
  void link_before(std::uint32_t slot, std::uint32_t number) {
    const std::uint32_t last = links_[slot].previous;
    links_[number] = {.next = slot, .previous = last};
    links_[last].next = links_[slot].previous = number;
  }
  void unlink(std::uint32_t number) {
    Link& link = links_[number];
    links_[link.previous].next = link.next;
    links_[link.next].previous = link.previous;
    link = {.next = kNone, .previous = kNone};
  }

  HugeArray<Link> links_;  ///< nodes of numbers, and from slots_ on of slots
  const std::uint32_t slots_;
  std::int64_t step_;  ///< step of the slot that take_due() processes next
};

}  // namespace penumbra::flows
