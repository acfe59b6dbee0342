// SPDX-License-Identifier: Apache-2.0
//
// Passes records of any size from one writer thread to one reader thread, without locks. The ring's memory has a fixed
// size, and neither thread ever waits.
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

  /// Allocates and touches all memory.
  CaptureRing();

  // The following functions are for the writer.
  /// Reserves a record after the earlier ones and returns its bytes, aligned to 8. `bytes` is at most kBytes / 4.
  /// Returns null if there is no room. The reader sees the record after publish().
  std::uint8_t* reserve(std::uint32_t bytes) noexcept;
  /// Returns the position of the next record, as a mark for publish().
  std::uint64_t reserved() const noexcept { return reserved_; }
  /// Publishes the records reserved before the mark and discards those after it.
  void publish(std::uint64_t until) noexcept;

  // The following functions are for the reader.
  /// Returns the oldest record, or nothing if there is none. The record stays valid until pop().
  std::span<const std::uint8_t> front() noexcept;
  void pop() noexcept;

 private:
  /// Precedes every record.
  struct Head {
    std::uint32_t bytes;  ///< kSkip: the rest of the memory is unused.
    std::uint32_t padding;
  };
  static constexpr std::uint32_t kSkip = 0xFFFFFFFF;
  static constexpr std::uint64_t space_of(std::uint32_t bytes) { return sizeof(Head) + (bytes + 7ULL) / 8 * 8; }
  std::uint8_t* at(std::uint64_t position) const { return memory_.get() + position % kBytes; }

  // Positions increase forever; the offset in memory is the position modulo kBytes.
  std::unique_ptr<std::uint8_t[]> memory_;
  alignas(64) std::atomic<std::uint64_t> published_{0};
  std::uint64_t reserved_ = 0;
  std::uint64_t known_read_ = 0;  ///< The writer's last known value of read_.
  alignas(64) std::atomic<std::uint64_t> read_{0};
  std::uint64_t next_ = 0;  ///< Position of the record after front().
};

}  // namespace penumbra::runtime
