// SPDX-License-Identifier: Apache-2.0
#include "runtime/capture_ring.h"

#include <cstring>

namespace penumbra::runtime {

CaptureRing::CaptureRing() : memory_(new std::uint8_t[kBytes]) {
  std::memset(memory_.get(), 0, kBytes);  // The pages are touched now, so that no worker causes a page fault.
}

std::uint8_t* CaptureRing::reserve(std::uint32_t bytes) noexcept {
  const std::uint64_t space = space_of(bytes);
  const std::uint64_t to_end = kBytes - reserved_ % kBytes;
  const bool skips = to_end < space;
  const std::uint64_t end = reserved_ + space + (skips ? to_end : 0);
  if (end - known_read_ > kBytes) {
    known_read_ = read_.load(std::memory_order_acquire);
    if (end - known_read_ > kBytes) return nullptr;
  }
  Head head{kSkip, 0};
  if (skips) {
    std::memcpy(at(reserved_), &head, sizeof head);  // The header fits, because all sizes are multiples of 8.
    reserved_ += to_end;
  }
  head.bytes = bytes;
  std::uint8_t* const begin = at(reserved_);
  std::memcpy(begin, &head, sizeof head);
  reserved_ = end;
  return begin + sizeof head;
}

void CaptureRing::publish(std::uint64_t until) noexcept {
  reserved_ = until;
  published_.store(until, std::memory_order_release);
}

std::span<const std::uint8_t> CaptureRing::front() noexcept {
  std::uint64_t position = read_.load(std::memory_order_relaxed);
  const std::uint64_t end = published_.load(std::memory_order_acquire);
  for (;;) {
    if (position == end) return {};
    Head head{};
    std::memcpy(&head, at(position), sizeof head);
    if (head.bytes == kSkip) {
      position += kBytes - position % kBytes;
      continue;
    }
    next_ = position + space_of(head.bytes);
    return {at(position) + sizeof head, head.bytes};
  }
}

void CaptureRing::pop() noexcept {
  read_.store(next_, std::memory_order_release);
}

}  // namespace penumbra::runtime
