// SPDX-License-Identifier: Apache-2.0
//
// Reports of workers to the agent's thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "functions/ipsec/flow.h"

namespace penumbra::ipsec {

struct Event {
  enum class Kind : std::uint8_t {
    wants_numbers,  ///< Less than half a block is left.
    acquire,        ///< A policy has no SA for the flow.
    mapping,        ///< The peer's packets come from another address or port.
    count,
  };
  Kind kind = Kind::wants_numbers;
  std::uint64_t sa = 0;      ///< DataSa::number
  std::uint32_t policy = 0;  ///< Index
  Flow flow;                 ///< Of acquire; of mapping, the new source and its port.
};

/// A ring between one worker and the agent. An event without room is lost; the packets that cause it come again.
class EventRing {
 public:
  static constexpr std::uint32_t kSize = 256;
  /// Room for acquire and mapping, which anybody's packets may cause. The rest is for SAs that need numbers.
  static constexpr std::uint32_t kSizeForFloods = kSize / 2;

  /// Returns false if the event is lost.
  bool push(const Event& event) noexcept {
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    const std::uint32_t room = event.kind == Event::Kind::wants_numbers ? kSize : kSizeForFloods;
    if (tail - head_.load(std::memory_order_acquire) >= room) {
      std::atomic<std::uint64_t>& lost = lost_[static_cast<std::size_t>(event.kind)];
      lost.store(lost.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return false;
    }
    events_[tail % kSize] = event;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }
  bool pop(Event& event) noexcept {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return false;
    event = events_[head % kSize];
    head_.store(head + 1, std::memory_order_release);
    return true;
  }
  /// Returns how many events of a kind were lost.
  std::uint64_t lost(Event::Kind kind) const noexcept {
    return lost_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  }

 private:
  std::array<Event, kSize> events_{};
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Event::Kind::count)> lost_{};
  alignas(64) std::atomic<std::uint32_t> head_{0};
  alignas(64) std::atomic<std::uint32_t> tail_{0};
};

}  // namespace penumbra::ipsec
