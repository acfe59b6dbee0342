// SPDX-License-Identifier: Apache-2.0
//
// Records of any size from one thread to one other, through memory of a fixed size: neither ever waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace penumbra::runtime {

class CaptureRing {
 public:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;

  /// All its memory is there afterwards.
  CaptureRing();

  // For the thread that writes:
  /// Room for a record behind those reserved before, aligned to 8 bytes, `bytes` at most kBytes / 4; null if there is
  /// none. What is reserved is only seen once it is published.
  std::uint8_t* reserve(std::uint32_t bytes) noexcept;
  /// Where the next record will be reserved: a mark for publish().
  std::uint64_t reserved() const noexcept { return reserved_; }
  /// Hands over what was reserved before the mark, and takes back what was reserved after it.
  void publish(std::uint64_t until) noexcept;

  // For the thread that reads:
  /// The oldest record, empty if there is none. It stays until pop().
  std::span<const std::uint8_t> front() noexcept;
  void pop() noexcept;

 private:
  /// In front of every record.
  struct Head {
    std::uint32_t bytes;  ///< kSkip: the rest up to the memory's end is not used
    std::uint32_t padding;
  };
  static constexpr std::uint32_t kSkip = 0xFFFFFFFF;
  static constexpr std::uint64_t space_of(std::uint32_t bytes) { return sizeof(Head) + (bytes + 7ULL) / 8 * 8; }
  std::uint8_t* at(std::uint64_t position) const { return memory_.get() + position % kBytes; }

  // Positions count on for ever; the place in memory is modulo kBytes.
  std::unique_ptr<std::uint8_t[]> memory_;
  alignas(64) std::atomic<std::uint64_t> published_{0};
  std::uint64_t reserved_ = 0;
  std::uint64_t known_read_ = 0;  ///< what the writer last saw of read_
  alignas(64) std::atomic<std::uint64_t> read_{0};
  std::uint64_t next_ = 0;  ///< where the record behind front() begins
};

}  // namespace penumbra::runtime
