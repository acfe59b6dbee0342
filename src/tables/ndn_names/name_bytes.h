// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "penumbra/huge_memory.h"

namespace penumbra::ndn {

/// Memory for the bytes of millions of names: taken from large pages piece by piece, given back to a list of pieces of
/// the same size. A piece counts who needs it.
class NameBytes {
 public:
  static constexpr std::size_t kMost = 65'535;

  /// A copy of `size` bytes, kMost at the most, that `users` need.
  const std::uint8_t* take(const std::uint8_t* bytes, std::size_t size, std::uint32_t users);
  /// One that needed it does no longer.
  void release(const std::uint8_t* bytes);
  std::size_t memory_bytes() const { return used_; }

 private:
  struct Head {
    std::uint32_t users = 0;
    std::uint32_t size_class = 0;
  };
  /// Pieces that nobody needs: each holds the chain behind it.
  struct Chain {
    std::byte* first = nullptr;
  };
  static constexpr std::size_t kUnit = 16, kSegment = std::size_t{16} << 20;
  static constexpr std::size_t kClasses = (kMost + sizeof(Head)) / kUnit + 1;

  std::byte* new_piece(std::size_t bytes);

  std::vector<HugeMemory> segments_;
  std::size_t left_ = 0;                ///< in the last of them
  std::size_t used_ = 0;                ///< bytes that pieces take, those that nobody needs included
  std::array<Chain, kClasses> free_{};  ///< by size
};

}  // namespace penumbra::ndn
