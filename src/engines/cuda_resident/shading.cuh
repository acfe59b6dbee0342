// SPDX-License-Identifier: Apache-2.0
//
// Runs a shader within a group. A batch is copied from its slot into the group's shared memory, the room, is shaded
// there, and its results are copied back. The shader sees ordinary columns; the group's threads share the items by
// `foreach` (gopt.h).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cuda_resident/layout.h"
#include "offload/arguments.cuh"
#include "penumbra/shader_entry.h"

namespace penumbra::cuda_resident {

inline constexpr std::uint32_t kWarp = 32;
inline constexpr std::uint32_t kRoom = 16384;  ///< Bytes.

/// Loads past every cache, because the host writes the memory while the kernel runs.
__device__ inline uint4 load_vector(const void* from) {
  uint4 value;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}
__device__ inline void store_vector(void* to, uint4 value) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}

/// Call after a load_vector() that saw the host's last write. Ordinary loads of this thread then see earlier writes of
/// the host; so do those of all threads of the group after its next barrier.
__device__ inline void see_what_came_before() {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}

__host__ __device__ constexpr std::uint32_t aligned(std::uint32_t bytes) {
  return (bytes + 15) / 16 * 16;
}

/// Moves a column between host memory and the room by all threads, in units of one size.
template <class Unit>
struct Mover {
  static constexpr std::uint32_t kInFlight = 4;  ///< Units in flight per thread.

  static __device__ Unit load(const Unit* from, bool /*by_lines*/) { return *static_cast<const volatile Unit*>(from); }
  /// Moves the bytes from `begin` on, as far as whole units go. Returns the end of the moved bytes.
  static __device__ std::uint32_t in(std::byte* room, const std::byte* from, std::uint32_t begin, std::uint32_t end,
                                     bool by_lines) {
    const std::uint32_t count = (end - begin) / sizeof(Unit);
    const auto* const source = reinterpret_cast<const Unit*>(from + begin);
    auto* const to = reinterpret_cast<Unit*>(room + begin);
    for (std::uint32_t i = threadIdx.x; i < count; i += kInFlight * blockDim.x) {
      Unit units[kInFlight];
#pragma unroll
      for (std::uint32_t k = 0; k < kInFlight; ++k) {
        if (i + k * blockDim.x < count) units[k] = load(source + i + k * blockDim.x, by_lines);
      }
#pragma unroll
      for (std::uint32_t k = 0; k < kInFlight; ++k) {
        if (i + k * blockDim.x < count) to[i + k * blockDim.x] = units[k];
      }
    }
    return begin + count * static_cast<std::uint32_t>(sizeof(Unit));
  }
  static __device__ std::uint32_t out(std::byte* to, const std::byte* room, std::uint32_t begin, std::uint32_t end) {
    const std::uint32_t count = (end - begin) / sizeof(Unit);
    const auto* const source = reinterpret_cast<const Unit*>(room + begin);
    auto* const target = reinterpret_cast<Unit*>(to + begin);
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) target[i] = source[i];
    return begin + count * static_cast<std::uint32_t>(sizeof(Unit));
  }
};
/// With `by_lines`, uses an ordinary load. With many groups the bus carries a tenth to a half more of such loads (E11),
/// presumably because they request whole lines.
template <>
__device__ inline uint4 Mover<uint4>::load(const uint4* from, bool by_lines) {
  return by_lines ? *from : load_vector(from);
}

/// Calls `move(Unit, begin)` with the largest units to which `host` is aligned, until `bytes` bytes are moved.
template <class Move>
__device__ void move_column(const std::byte* host, std::uint32_t bytes, Move move) {
  const auto misaligned = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(host) % sizeof(uint4));
  std::uint32_t moved = 0;
  if (misaligned == 0) moved = move(Mover<uint4>{}, moved);
  if (misaligned % sizeof(std::uint32_t) == 0) moved = move(Mover<std::uint32_t>{}, moved);
  if (moved < bytes) move(Mover<std::uint8_t>{}, moved);
}

/// `Arguments` are those of the shader, Column... their columns. The base addresses of payload precede the view.
template <auto Function, class View, class Arguments, class... Column>
struct Shading {
  static constexpr bool kHasPayload = offload::has_payload(Arguments{});
  static constexpr std::uint32_t kBasesBytes = kHasPayload ? sizeof(offload::PayloadBases) : 0;
  static_assert(alignof(View) <= 8 && kBasesBytes + sizeof(View) <= kMostViewBytes, "a view stands behind the head");
  using Positions = std::make_index_sequence<sizeof...(Column)>;
  static constexpr std::uint32_t kColumns = sizeof...(Column);
  static constexpr std::uint32_t kHeadBytes = sizeof(Head) + kBasesBytes + sizeof(View);
  static constexpr std::uint32_t kHeadPieces = blocks_for(kHeadBytes);
  static constexpr std::uint32_t kHeadRoom = aligned(kHeadPieces * kBlockBytes);
  static constexpr std::uint32_t kItemBytes = (std::uint32_t{ShaderArgument<Column>::element_bytes} + ...);
  static constexpr std::uint32_t kInputBytes =
      ((ShaderArgument<Column>::is_input ? std::uint32_t{ShaderArgument<Column>::element_bytes} : 0) + ...);
  /// Bytes of a part's inputs from which ordinary loads gain more than their fence costs.
  static constexpr std::uint32_t kLeastByLines = 4096;
  /// Items per tile of a batch outside the slot. A tile has whole lines, so that aligned columns stay aligned.
  static constexpr std::uint32_t kTileRoom = kHeadRoom + aligned(blocks_for(8 * kColumns) * kBlockBytes);
  static constexpr std::uint32_t kTile = (kRoom - kTileRoom) / kItemBytes / 64 * 64;
  static_assert(kTile > 0, "an item fits into the room");

  /// Calls `use(position, bytes of the section)` for each column of the direction, in order.
  template <class Use>
  static __device__ void for_each_column(bool inputs, std::uint32_t items, Use use) {
    constexpr bool kInputs[] = {ShaderArgument<Column>::is_input...};
    constexpr std::uint32_t kElementBytes[] = {std::uint32_t{ShaderArgument<Column>::element_bytes}...};
#pragma unroll
    for (std::uint32_t i = 0; i != kColumns; ++i) {
      if (kInputs[i] == inputs) use(i, items * kElementBytes[i]);
    }
  }

  /// Returns the place in the room for a block's data, where the columns of the direction start at `room`.
  static __device__ std::uint32_t place_of(std::uint32_t block, bool inputs, std::uint32_t items, std::uint32_t room) {
    std::uint32_t place = room + block * kBlockBytes, first = 0;
    for_each_column(inputs, items, [&](std::uint32_t, std::uint32_t bytes) {
      if (block >= first) place = room + (block - first) * kBlockBytes;
      first += blocks_for(bytes);
      room += aligned(blocks_for(bytes) * kBlockBytes);
    });
    return place;
  }
  /// Returns the bytes in the room of the direction's columns before the column at `position`.
  static __device__ std::uint32_t room_before(std::uint32_t position, bool inputs, std::uint32_t items) {
    std::uint32_t room = 0;
    for_each_column(inputs, items, [&](std::uint32_t each, std::uint32_t bytes) {
      if (each < position) room += aligned(blocks_for(bytes) * kBlockBytes);
    });
    return room;
  }
  /// Returns the place of the outputs in the room.
  static __device__ std::uint32_t outputs_room(std::uint32_t items) {
    return kHeadRoom + room_before(kColumns, true, items);
  }
  /// Returns the column at `Position` in the room.
  template <std::size_t Position, class Pointer>
  static __device__ Pointer column(std::byte* room, std::uint32_t items) {
    constexpr bool kIsInput = ShaderArgument<Pointer>::is_input;
    const std::uint32_t begin = kIsInput ? kHeadRoom : outputs_room(items);
    return reinterpret_cast<Pointer>(room + begin + room_before(Position, kIsInput, items));
  }
  static __device__ const View& view(const std::byte* room) {
    return *reinterpret_cast<const View*>(room + sizeof(Head) + kBasesBytes);
  }
  /// Runs the shader on columns in the room.
  static __device__ __forceinline__ void call(const std::byte* room, std::byte* const* columns, std::uint32_t items) {
    offload::PayloadBases bases{};
    if constexpr (kHasPayload) bases = *reinterpret_cast<const offload::PayloadBases*>(room + sizeof(Head));
    offload::call<Function>(view(room), columns, bases, items, Arguments{});
  }
  template <class Pointer>
  static __device__ std::byte* as_bytes(Pointer column) {
    return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(column));
  }

  /// Copies a block's data into the room.
  static __device__ void unpack(std::byte* room, std::uint32_t block, uint4 value, Form form, std::uint32_t items) {
    const std::uint32_t head_blocks = form == Form::columns_only ? 1 : kHeadPieces;
    std::uint32_t place = block * kBlockBytes;
    if (block >= head_blocks) {
      const std::uint32_t behind = block - head_blocks;
      place = form == Form::addresses ? kHeadRoom + behind * kBlockBytes : place_of(behind, true, items, kHeadRoom);
    }
    auto* const to = reinterpret_cast<std::uint32_t*>(room + place);
    to[0] = value.x;
    to[1] = value.y;
    to[2] = value.z;
  }

  /// Shades the batch in the room. Payload is read after what the host wrote before the batch, and written before any
  /// later result of the same thread. `wait` is a barrier of the threads that call this function.
  template <class Barrier>
  static __device__ void shade(std::byte* room, std::uint32_t items, Barrier wait) {
    if constexpr (kHasPayload) {
      if (threadIdx.x == 0) see_what_came_before();
      wait();
    }
    shade(room, items, Positions{});
    if constexpr (kHasPayload) {
      __threadfence_system();
    }
  }
  template <std::size_t... Position>
  static __device__ void shade(std::byte* room, std::uint32_t items, std::index_sequence<Position...>) {
    std::byte* const columns[] = {as_bytes(column<Position, Column>(room, items))...};
    call(room, columns, items);
  }

  /// Writes the results into the slot. Runs on one warp.
  static __device__ void pack(const std::byte* room, NumberedBlock* out, std::uint32_t items, std::uint32_t number) {
    std::uint32_t blocks = 0;
    for_each_column(false, items, [&](std::uint32_t, std::uint32_t bytes) { blocks += blocks_for(bytes); });
    if (blocks == 0) blocks = 1;
    for (std::uint32_t block = threadIdx.x; block < blocks; block += kWarp) {
      const auto* const from =
          reinterpret_cast<const std::uint32_t*>(room + place_of(block, false, items, outputs_room(items)));
      store_vector(out + block, make_uint4(from[0], from[1], from[2], number));
    }
  }

  /// Shades a batch whose columns' addresses are in the room. Runs on all threads.
  static __device__ void shade_elsewhere(std::byte* room, std::uint32_t items) {
    shade_elsewhere(room, items, Positions{});
  }
  template <std::size_t... Position>
  static __device__ void shade_elsewhere(std::byte* room, std::uint32_t items, std::index_sequence<Position...>) {
    const auto* const addresses = reinterpret_cast<std::byte* const*>(room + kHeadRoom);
    const bool by_lines = kHasPayload || std::uint64_t{items} * kInputBytes >= kLeastByLines;
    if (by_lines) {
      if (threadIdx.x == 0) see_what_came_before();
      __syncthreads();
    }
    for (std::uint32_t first = 0; first < items; first += kTile) {
      const std::uint32_t count = items - first < kTile ? items - first : kTile;
      (tile_in<Position, Column>(room, addresses, first, count, by_lines), ...);
      __syncthreads();
      std::byte* const columns[] = {as_bytes(tile_column<Position, Column>(room))...};
      call(room, columns, count);
      __syncthreads();
      (tile_out<Position, Column>(room, addresses, first, count), ...);
    }
  }

 private:
  /// Returns the index of the address of the column at `position` in the list of inputs and then outputs.
  static constexpr std::uint32_t address_of(std::uint32_t position) {
    constexpr bool kInputs[] = {ShaderArgument<Column>::is_input...};
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < kColumns; ++i) {
      const bool is_alike = kInputs[i] == kInputs[position];
      if (is_alike ? i < position : kInputs[i]) ++at;
    }
    return at;
  }
  template <std::size_t Position, class Pointer>
  static __device__ Pointer tile_column(std::byte* room) {
    constexpr std::uint32_t kElementBytes[] = {std::uint32_t{ShaderArgument<Column>::element_bytes}...};
    std::uint32_t before = 0;
#pragma unroll
    for (std::size_t i = 0; i != Position; ++i) before += kElementBytes[i];
    return reinterpret_cast<Pointer>(room + kTileRoom + kTile * before);
  }
  template <std::size_t Position, class Pointer>
  static __device__ void tile_in(std::byte* room, std::byte* const* addresses, std::uint32_t first, std::uint32_t count,
                                 bool by_lines) {
    if constexpr (ShaderArgument<Pointer>::is_input) {
      constexpr std::uint32_t kElementBytes = ShaderArgument<Pointer>::element_bytes;
      const std::byte* const from = addresses[address_of(Position)] + std::size_t{first} * kElementBytes;
      const std::uint32_t bytes = count * kElementBytes;
      auto* const to = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(tile_column<Position, Pointer>(room)));
      move_column(from, bytes, [&](auto mover, std::uint32_t begin) {
        return decltype(mover)::in(to, from, begin, bytes, by_lines);
      });
    }
  }
  template <std::size_t Position, class Pointer>
  static __device__ void tile_out(std::byte* room, std::byte* const* addresses, std::uint32_t first,
                                  std::uint32_t count) {
    if constexpr (ShaderArgument<Pointer>::is_output) {
      constexpr std::uint32_t kElementBytes = ShaderArgument<Pointer>::element_bytes;
      std::byte* const to = addresses[address_of(Position)] + std::size_t{first} * kElementBytes;
      const std::uint32_t bytes = count * kElementBytes;
      const auto* const from = reinterpret_cast<const std::byte*>(tile_column<Position, Pointer>(room));
      move_column(to, bytes,
                  [&](auto mover, std::uint32_t begin) { return decltype(mover)::out(to, from, begin, bytes); });
    }
  }
};

namespace detail {

template <auto Function, class View, class Arguments, class... Column>
Shading<Function, View, Arguments, Column...> shading_with(penumbra::detail::ArgumentList<Column...>);
template <auto Function, class View, class... Rest>
auto shading_of(void (*)(View, Rest...)) {
  using Arguments = typename penumbra::detail::WithoutCount<penumbra::detail::ArgumentList<>, Rest...>::type;
  return decltype(shading_with<Function, View, Arguments>(offload::AllColumns<Arguments>{})){};
}

}  // namespace detail

/// The shading of `Function`.
template <auto Function>
using ShadingFor = decltype(detail::shading_of<Function>(Function));

}  // namespace penumbra::cuda_resident
