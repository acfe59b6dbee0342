// SPDX-License-Identifier: Apache-2.0
//
// payload_copy.shader.h for a GPU. A warp copies an item, in whole lines.
#pragma once

#include <cstdint>

#include "penumbra/cuda_form.h"
#include "penumbra/cuda_tile.h"
#include "tables/payload_copy/payload_copy.shader.h"

namespace penumbra {

__device__ inline void payload_copy_by_warps(payload_masks view, const std::uint8_t* key, penumbra_source source,
                                             penumbra_destination destination, std::uint32_t n) {
  using namespace cuda_tile;  // NOLINT(google-build-using-namespace)
  __shared__ TileRoom in[kMostCudaThreads / kWarp], out[kMostCudaThreads / kWarp];
  const std::uint32_t own = threadIdx.x / kWarp, lane = lane_id();
  const std::uint32_t warps = gridDim.x * blockDim.x / kWarp;
  for (std::uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp; i < n; i += warps) {
    const std::uint32_t length = payload_copied(source, destination, i);
    const std::uint32_t mask = view.mask[key[i]] * 0x01010101U;
    const std::uint8_t* const from = source.bytes + source.position[i];
    LineWriter writer(out[own], destination.bytes + destination.position[i]);
    for (std::uint32_t begin = 0; begin < length; begin += kTile) {
      const std::uint32_t bytes = min(kTile, length - begin);
      const std::uint8_t* const tile = load_tile(in[own], from + begin, bytes);
      if (lane * kLine < bytes) {
        put_block(writer.next() + lane * kLine, block_at(tile + lane * kLine) ^ Block{{mask, mask, mask, mask}});
      }
      writer.write(bytes);
    }
    writer.finish();
    if (lane == 0) destination.length[i] = length;
  }
}

template <>
inline constexpr CudaShape kCudaShape<&payload_copy_by_warps>{.threads_per_item = 32};

}  // namespace penumbra
