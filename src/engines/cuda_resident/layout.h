// SPDX-License-Identifier: Apache-2.0
//
// What stands in a slot, the place in host memory by which one batch at a time reaches a group of the resident kernel
// and its results come back. It is made of blocks of 16 bytes, 12 of data and a number; a block is written and read at
// once, so that the number tells whether its data have come. Then no flag has to follow the data, which would cost
// another way over the bus, and completion is seen of every block by itself.
//
// A batch is a head, the shader's view, and its columns. A group keeps the view: so a batch that needs the one that its
// slot's last batch brought comes without it, and a batch of 32 look-ups is a line shorter. A group that has just begun
// to serve the slot, and so missed it, reads what stands beside the blocks. Head and columns each begin with a block.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penumbra::cuda_resident {

struct alignas(16) NumberedBlock {
  std::uint32_t data[3];
  std::uint32_t number;  ///< of the batch; 0: of none
};
inline constexpr std::uint32_t kBlockBytes = 12;

constexpr std::uint32_t blocks_for(std::uint32_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes;
}

enum class Form : std::uint8_t {
  columns,       ///< the view and the columns stand in the slot, the results come back in it
  columns_only,  ///< likewise, without the view: it is that of the slot's last batch
  addresses,     ///< the view, and where each column begins, 8 bytes each, inputs and then outputs; one block answers
};

/// What a batch begins with. Its first block has 4 bytes of the view too, whatever the form.
struct Head {
  std::uint32_t items;
  std::uint8_t shader;  ///< its index in the launch
  Form form;
  std::uint8_t blocks;  ///< of the whole batch
  std::uint8_t ahead;   ///< so many does the group read at once when it waits for the slot's next one
};
static_assert(sizeof(Head) == 8);
inline constexpr std::uint32_t kMostShaders = 256;

inline constexpr std::uint32_t kSlotPieces = 64;  ///< of each direction
inline constexpr std::uint32_t kMostViewBytes = 256;
inline constexpr std::uint32_t kLineBytes = 64;
inline constexpr std::uint32_t kLinePieces = kLineBytes / 16;
inline constexpr std::uint32_t kDataBehindFirst = (kLinePieces - 1) * kBlockBytes;  ///< bytes, in a line's other blocks
struct alignas(kLineBytes) Slot {
  NumberedBlock in[kSlotPieces];
  NumberedBlock out[kSlotPieces];
  std::byte view[kMostViewBytes];  ///< that came last with a batch
  std::byte unused[kLineBytes];
};
static_assert(sizeof(Slot) / kLineBytes % 2 == 1, "so the slots' lines fall into all sets of a cache");

/// The number behind this one.
constexpr std::uint32_t next_number(std::uint32_t number) {
  return number == UINT32_MAX ? 1 : number + 1;
}

/// Slots of a launch at most: beyond 500 groups their reading alone fills the bus.
inline constexpr std::uint32_t kMostSlots = 512;

/// Threads of a group at most.
inline constexpr std::uint32_t kMostThreads = 512;

/// What a launch reads when it begins: which slot each group serves. And what its groups tell while they run.
struct Roster {
  Slot* slots[kMostSlots];
  std::uint32_t beats[kMostSlots];  ///< each group counts on, as long as it lives
};

}  // namespace penumbra::cuda_resident
