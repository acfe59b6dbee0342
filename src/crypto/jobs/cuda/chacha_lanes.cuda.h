// SPDX-License-Identifier: Apache-2.0
//
// The key stream of ChaCha20. Four lanes make a block of 64 bytes: each has a column of the state.
#pragma once

#include <cstdint>

#include "crypto/chacha20_poly1305/chacha20.h"
#include "penumbra/cuda_tile.h"

namespace penumbra::cipher_cuda {

using namespace cuda_tile;  // NOLINT(google-build-using-namespace)

inline constexpr std::uint32_t kStreamBlocks = kTile / CHACHA20_BLOCK + 1;  ///< Blocks that a tile can touch.

class ChachaLanes {
 public:
  /// `key` is a key of 32 bytes, `nonce` one of 12 bytes.
  __device__ ChachaLanes(const std::uint8_t* key, const std::uint8_t* nonce) {
    const std::uint32_t column = lane_id() % 4;
    constexpr std::uint32_t kConstants[] = {0x61707865, 0x3320646E, 0x79622D32, 0x6B206574};
    first_ = column == 0 ? kConstants[0] : column == 1 ? kConstants[1] : column == 2 ? kConstants[2] : kConstants[3];
    second_ = read_le32(key + 4 * column);
    third_ = read_le32(key + 16 + 4 * column);
    fourth_ = column == 0 ? 0 : read_le32(nonce + 4 * (column - 1));
  }
  /// Writes `count` blocks from the block `counter` on to shared memory.
  __device__ void make(std::uint32_t counter, std::uint32_t count, std::uint32_t* words) const {
    const std::uint32_t column = lane_id() % 4;
    for (std::uint32_t done = 0; done < count; done += kWarp / 4) {
      const std::uint32_t block = done + lane_id() / 4;
      const std::uint32_t last = column == 0 ? counter + block : fourth_;
      std::uint32_t a = first_, b = second_, c = third_, d = last;
      for (int i = 0; i < 10; ++i) {
        quarter(a, b, c, d);
        turn(b, c, d, 1, 3);
        quarter(a, b, c, d);
        turn(b, c, d, 3, 1);
      }
      if (block >= count) continue;
      std::uint32_t* const to = words + block * (CHACHA20_BLOCK / 4) + column;
      to[0] = a + first_;
      to[4] = b + second_;
      to[8] = c + third_;
      to[12] = d + last;
    }
    __syncwarp();
  }

 private:
  static __device__ void quarter(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c, std::uint32_t& d) {
    a += b;
    d = chacha20_rotate(d ^ a, 16);
    c += d;
    b = chacha20_rotate(b ^ c, 12);
    a += b;
    d = chacha20_rotate(d ^ a, 8);
    c += d;
    b = chacha20_rotate(b ^ c, 7);
  }
  /// Moves the rows against each other, so that columns become diagonals or diagonals columns.
  static __device__ void turn(std::uint32_t& b, std::uint32_t& c, std::uint32_t& d, int of_second, int of_fourth) {
    const int column = static_cast<int>(lane_id() % 4);
    b = __shfl_sync(kAllLanes, b, (column + of_second) % 4, 4);
    c = __shfl_sync(kAllLanes, c, (column + 2) % 4, 4);
    d = __shfl_sync(kAllLanes, d, (column + of_fourth) % 4, 4);
  }

  std::uint32_t first_, second_, third_, fourth_;
};

}  // namespace penumbra::cipher_cuda
