// SPDX-License-Identifier: Apache-2.0
//
// Reports of workers to the agent's thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "functions/ipsec/policy.h"

namespace penumbra::ipsec {

struct Event {
  enum class Kind : std::uint8_t {
    wants_numbers,  ///< Less than half a block is left.
    acquire,        ///< A policy has no SA for the flow.
    mapping,        ///< The peer's packets come from another address or port.
  };
  Kind kind = Kind::wants_numbers;
  std::uint64_t sa = 0;      ///< DataSa::number
  std::uint32_t policy = 0;  ///< Index
  Flow flow;                 ///< Of acquire; of mapping, the new source and its port.
};

/// A ring between one worker and the agent. Without room an event is lost; the packets that cause it come again.
class EventRing {
 public:
  void push(const Event& event) noexcept {
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == kSize) return;
    events_[tail % kSize] = event;
    tail_.store(tail + 1, std::memory_order_release);
  }
  bool pop(Event& event) noexcept {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return false;
    event = events_[head % kSize];
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

 private:
  static constexpr std::uint32_t kSize = 256;

  std::array<Event, kSize> events_{};
  alignas(64) std::atomic<std::uint32_t> head_{0};
  alignas(64) std::atomic<std::uint32_t> tail_{0};
};

}  // namespace penumbra::ipsec
