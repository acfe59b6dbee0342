// SPDX-License-Identifier: Apache-2.0
//
// Layout of a slot. A slot is a place in host memory. One batch at a time reaches a group of the resident kernel
// through it, and its results return. A slot consists of numbered blocks of 16 bytes: 12 bytes of data and the number
// of the batch. A block is written and read by one access, so its number shows if its data have arrived. No flag has to
// follow the data, which would cost another round trip over the bus. Each block shows its own completion.
//
// A batch is a head, the shader's view, and its columns. A group keeps the view. A batch that needs the view of its
// slot's last batch therefore omits it, and a batch of 32 look-ups is a line shorter. A group that has just started to
// serve the slot has not seen the view, and reads Slot::view. Head and columns each start at a block boundary.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penumbra::cuda_resident {

struct alignas(16) NumberedBlock {
  std::uint32_t data[3];
  std::uint32_t number;  ///< Number of the batch; 0: none.
};
inline constexpr std::uint32_t kBlockBytes = 12;

constexpr std::uint32_t blocks_for(std::uint32_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes;
}

enum class Form : std::uint8_t {
  columns,       ///< View and columns are in the slot; the results return in the slot.
  columns_only,  ///< As `columns` without the view, which equals that of the slot's last batch.
  addresses,     ///< The view and the addresses of the columns, 8 bytes each, first inputs, then outputs. One block
                 ///< answers.
};

/// Start of a batch. The first block of a batch also holds 4 bytes of the view, in every form.
struct Head {
  std::uint32_t items;
  std::uint8_t shader;  ///< Index in the kernel.
  Form form;
  std::uint8_t blocks;  ///< Numbered blocks of the whole batch.
  std::uint8_t ahead;   ///< Blocks that the group reads at once while it waits for the slot's next batch.
};
static_assert(sizeof(Head) == 8);
inline constexpr std::uint32_t kMostShaders = 256;

inline constexpr std::uint32_t kSlotPieces = 64;  ///< In each direction.
inline constexpr std::uint32_t kMostViewBytes = 256;
inline constexpr std::uint32_t kLineBytes = 64;
inline constexpr std::uint32_t kLinePieces = kLineBytes / 16;
inline constexpr std::uint32_t kDataBehindFirst =
    (kLinePieces - 1) * kBlockBytes;  ///< Bytes in a line's blocks after the first.
struct alignas(kLineBytes) Slot {
  NumberedBlock in[kSlotPieces];
  NumberedBlock out[kSlotPieces];
  std::byte view[kMostViewBytes];  ///< View that was written last with a batch.
  std::byte unused[kLineBytes];
};
static_assert(sizeof(Slot) / kLineBytes % 2 == 1, "so the slots' lines fall into all sets of a cache");

/// Returns the number after `number`; skips 0.
constexpr std::uint32_t next_number(std::uint32_t number) {
  return number == UINT32_MAX ? 1 : number + 1;
}

/// Most slots of a launch. Polling by more than about 500 groups alone fills the bus.
inline constexpr std::uint32_t kMostSlots = 512;

/// Most threads of a group.
inline constexpr std::uint32_t kMostThreads = 512;

/// Names the slot of each group, which the kernel reads at its start, and collects the groups' heartbeats.
struct Roster {
  Slot* slots[kMostSlots];
  std::uint32_t beats[kMostSlots];  ///< Each running group increments its element.
};

/// The groups that the blocks of a run take. All blocks that the GPU holds are started.
struct Places {
  std::uint32_t* taken;           ///< Blocks that asked for a group; 0 before the run.
  std::uint32_t groups;           ///< Groups of the run.
  std::uint32_t free_processors;  ///< Multiprocessors on which no group stays.
};

}  // namespace penumbra::cuda_resident
