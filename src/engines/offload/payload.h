// SPDX-License-Identifier: Apache-2.0
//
// Payload of a batch on its way to a device. Items in memory that the device reaches stay where they are. Others are
// gathered into staging memory, or get their room there, and their positions are those in the staging memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penumbra/batch.h"
#include "penumbra/huge_memory.h"

namespace penumbra::offload {

/// Items start at multiples of this number of bytes in staging memory.
inline constexpr std::size_t kItemAlignment = 16;

/// Some items of a batch's source or destination.
struct PayloadItems {
  const std::byte* base = nullptr;  ///< Batch::source or Batch::destination.
  const std::uint64_t* positions = nullptr;
  const std::uint32_t* lengths = nullptr;  ///< Lengths of a source, rooms of a destination.
  std::uint32_t count = 0;

  const std::byte* at(std::uint32_t item) const noexcept {
    return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(base) + positions[item]);
  }
};

/// Return `count` items from item `first` on. The shader must have a source, or a destination.
PayloadItems source_of(const Batch& batch, std::uint32_t first, std::uint32_t count) noexcept;
PayloadItems destination_of(const Batch& batch, std::uint32_t first, std::uint32_t count) noexcept;

/// True if all items lie in `memory`.
bool lie_in(const PayloadItems& items, const HugeMemory& memory) noexcept;

/// Returns the bytes of staging memory that the items need.
std::size_t staged_bytes(const PayloadItems& items) noexcept;
/// Returns how many of the items, from the first on, need at most `bytes` bytes of staging memory.
std::uint32_t items_within(const PayloadItems& items, std::size_t bytes) noexcept;

/// Sets the positions of the items in staging memory, one after the other from `first` on.
void place(const PayloadItems& items, std::uint64_t first, std::uint64_t* positions) noexcept;
/// Copies the items to `staged`, where place() has put them.
void gather(const PayloadItems& items, std::byte* staged) noexcept;
/// Copies the first lengths[i] bytes of each room from `staged` to its item. A length above the room counts as the
/// room.
void scatter(const std::byte* staged, const std::uint32_t* lengths, const PayloadItems& items) noexcept;

}  // namespace penumbra::offload
