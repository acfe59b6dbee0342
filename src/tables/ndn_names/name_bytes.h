// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "penumbra/huge_memory.h"

namespace penumbra::ndn {

/// Memory for the bytes of millions of names. Blocks are allocated from large pages and freed to a list of blocks of
/// the same size. Each block counts its users.
class NameBytes {
 public:
  static constexpr std::size_t kMost = 65'535;

  /// Returns a copy of `size` bytes (at most kMost) with `users` users.
  const std::uint8_t* take(const std::uint8_t* bytes, std::size_t size, std::uint32_t users);
  /// Removes one user of a copy, and frees the copy after the last.
  void release(const std::uint8_t* bytes);
  std::size_t memory_bytes() const { return used_; }

 private:
  struct Head {
    std::uint32_t users = 0;
    std::uint32_t size_class = 0;
  };
  /// A list of free blocks; each free block holds the rest of the list.
  struct Chain {
    std::byte* first = nullptr;
  };
  static constexpr std::size_t kUnit = 16, kSegment = std::size_t{16} << 20;
  static constexpr std::size_t kClasses = (kMost + sizeof(Head)) / kUnit + 1;

  std::byte* new_piece(std::size_t bytes);

  std::vector<HugeMemory> segments_;
  std::size_t left_ = 0;                ///< bytes left in the last segment
  std::size_t used_ = 0;                ///< bytes of all blocks, including free ones
  std::array<Chain, kClasses> free_{};  ///< by size
};

}  // namespace penumbra::ndn
