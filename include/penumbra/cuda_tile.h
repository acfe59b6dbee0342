// SPDX-License-Identifier: Apache-2.0
//
// Moves payload between memory and a warp's shared memory in whole lines of 16 bytes a lane, whatever its alignment,
// for CUDA forms of shaders (x.cuda.h). A warp processes a packet tile by tile; a lane has 16 bytes of a tile.
#pragma once

#include <cstdint>

namespace penumbra::cuda_tile {

inline constexpr std::uint32_t kWarp = 32, kLine = 16, kTile = kWarp * kLine;
inline constexpr std::uint32_t kAllLanes = 0xFFFFFFFF;

/// 16 bytes in little-endian words.
struct Block {
  std::uint32_t word[4];
};

__device__ inline Block operator^(const Block& a, const Block& b) {
  return {{a.word[0] ^ b.word[0], a.word[1] ^ b.word[1], a.word[2] ^ b.word[2], a.word[3] ^ b.word[3]}};
}

__device__ inline std::uint32_t lane_id() {
  return threadIdx.x % kWarp;
}

/// Returns the block of lane `from`.
__device__ inline Block shuffle(const Block& block, std::uint32_t from) {
  Block got;
#pragma unroll
  for (int i = 0; i < 4; ++i) got.word[i] = __shfl_sync(kAllLanes, block.word[i], static_cast<int>(from));
  return got;
}

/// Keeps the first `bytes` bytes, at most 16, and clears the rest.
__device__ inline Block first_bytes(const Block& block, std::uint32_t bytes) {
  Block kept;
#pragma unroll
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t left = bytes > 4 * i ? bytes - 4 * i : 0;
    kept.word[i] = left >= 4 ? block.word[i] : block.word[i] & ((1U << 8 * left) - 1);
  }
  return kept;
}

/// Shared memory for a tile at any alignment.
struct alignas(16) TileRoom {
  uint4 line[kWarp + 2];

  __device__ std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(line); }
};

/// Copies `bytes` bytes, at most kTile, into the room, and returns where they start there. Reads the whole lines in
/// which the bytes lie.
__device__ inline const std::uint8_t* load_tile(TileRoom& room, const std::uint8_t* from, std::uint32_t bytes) {
  const auto misaligned = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % kLine);
  const auto* const lines = reinterpret_cast<const uint4*>(from - misaligned);
  const std::uint32_t count = (misaligned + bytes + kLine - 1) / kLine;
  __syncwarp();
  for (std::uint32_t i = lane_id(); i < count; i += kWarp) room.line[i] = lines[i];
  __syncwarp();
  return room.bytes() + misaligned;
}

/// Returns four bytes of shared memory at any alignment. May read up to 4 bytes more.
__device__ inline std::uint32_t word_of(const std::uint8_t* bytes) {
  const auto offset = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(bytes) % 4);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(bytes - offset);
  return __funnelshift_r(words[0], words[1], 8 * offset);
}

/// Returns 16 bytes of shared memory at any alignment. May read up to 4 bytes more.
__device__ inline Block block_at(const std::uint8_t* bytes) {
  const auto offset = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(bytes) % 4);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(bytes - offset);
  Block block;
  std::uint32_t next = words[0];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t low = next;
    next = words[i + 1];
    block.word[i] = __funnelshift_r(low, next, 8 * offset);
  }
  return block;
}

/// Writes a block to shared memory at any alignment.
__device__ inline void put_block(std::uint8_t* to, const Block& block) {
  if (reinterpret_cast<std::uintptr_t>(to) % 4 == 0) {
#pragma unroll
    for (int i = 0; i < 4; ++i) reinterpret_cast<std::uint32_t*>(to)[i] = block.word[i];
  } else {
#pragma unroll
    for (std::uint32_t i = 0; i < kLine; ++i) to[i] = static_cast<std::uint8_t>(block.word[i / 4] >> 8 * (i % 4));
  }
}

/// Writes bytes that come tile by tile to memory, in whole lines. Only the first and the last line are written in part,
/// each by one instruction: over a bus, single bytes cost as much as lines.
class LineWriter {
 public:
  __device__ LineWriter(TileRoom& room, std::uint8_t* to)
      : room_(room),
        line_(to - reinterpret_cast<std::uintptr_t>(to) % kLine),
        begin_(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to) % kLine)),
        end_(begin_) {}

  /// Returns the shared memory for the next bytes, at most kTile.
  __device__ std::uint8_t* next() const { return room_.bytes() + end_; }
  /// Writes `bytes` bytes that are at next(), as far as they fill lines.
  __device__ void write(std::uint32_t bytes) {
    end_ += bytes;
    const std::uint32_t lines = end_ / kLine, lane = lane_id();
    __syncwarp();
    if (lines == 0) return;
    if (begin_ > 0) write_part(begin_, kLine);
    for (std::uint32_t i = lane + (begin_ > 0 ? 1 : 0); i < lines; i += kWarp) {
      reinterpret_cast<uint4*>(line_)[i] = room_.line[i];
    }
    line_ += lines * kLine;
    end_ -= lines * kLine;
    begin_ = 0;
    const std::uint8_t rest = lane < kLine ? room_.bytes()[lines * kLine + lane] : std::uint8_t{0};
    __syncwarp();
    if (lane < end_) room_.bytes()[lane] = rest;
    __syncwarp();
  }
  /// Writes the last line.
  __device__ void finish() { write_part(begin_, end_); }

 private:
  __device__ void write_part(std::uint32_t begin, std::uint32_t end) const {
    const std::uint32_t lane = lane_id();
    if (lane >= begin && lane < end) line_[lane] = room_.bytes()[lane];
  }

  TileRoom& room_;
  std::uint8_t* line_;         ///< Memory of the room's first line.
  std::uint32_t begin_, end_;  ///< Bytes of the room that are not written yet.
};

/// Copies few bytes, by one byte a lane.
__device__ inline void copy_few(std::uint8_t* to, const std::uint8_t* from, std::uint32_t bytes) {
  for (std::uint32_t i = lane_id(); i < bytes; i += kWarp) to[i] = from[i];
  __syncwarp();
}

}  // namespace penumbra::cuda_tile
