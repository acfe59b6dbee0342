// SPDX-License-Identifier: Apache-2.0
//
// Runs a shader as a kernel over the segments of a launch. Each row of the grid is a segment. The threads of the row
// share its items by `foreach` (gopt.h), or by the shader's CUDA form (penumbra/cuda_form.h).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cuda/device.h"
#include "cuda/kernels.h"
#include "offload/arguments.cuh"
#include "penumbra/cuda_form.h"
#include "penumbra/shader_entry.h"

namespace penumbra::cuda {

/// A segment as kernel parameters, with as many columns as the shader has. (nvcc 13 and GCC lay out an empty member
/// with [[no_unique_address]] differently.)
template <std::size_t kColumns>
struct PlainSegment {
  std::byte* columns[kColumns];
  std::uint32_t items;
};
template <std::size_t kColumns>
struct PayloadSegment {
  std::byte* columns[kColumns];
  std::uint32_t items;
  offload::PayloadBases bases;
};

/// Segments as kernel parameters, passed by value.
template <class Segment, std::size_t kCount>
struct Segments {
  Segment at[kCount];
};

/// Launches of at most this many segments use the kernel with short arguments.
inline constexpr std::size_t kFewSegments = 4;

/// Writes the addresses of the segment's columns, in the order of the shader's arguments.
template <class... Column>
void list_columns(const Segment& segment, std::byte** to, detail::ArgumentList<Column...>) {
  std::size_t inputs = 0, outputs = 0;
  ((*to++ = ShaderArgument<Column>::is_input ? const_cast<std::byte*>(segment.inputs[inputs++])
                                             : segment.outputs[outputs++]),
   ...);
}

template <class Arguments>
inline constexpr std::size_t kColumnsOf = offload::count_of(offload::AllColumns<Arguments>{});
template <class Arguments, std::size_t kCount>
using SegmentsOf = Segments<std::conditional_t<offload::has_payload(Arguments{}), PayloadSegment<kColumnsOf<Arguments>>,
                                               PlainSegment<kColumnsOf<Arguments>>>,
                            kCount>;

/// Makes the last block to finish signal the end to the host. All writes of the launch are visible to the host by then.
__device__ inline void tell_the_host(const Signal& signal) {
  if (signal.flag == nullptr) return;
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence_system();
  if (atomicAdd(signal.blocks, 1U) + 1 != gridDim.x * gridDim.y) return;
  *signal.blocks = 0;
  __threadfence_system();
  *static_cast<volatile std::uint32_t*>(signal.flag) = signal.value;
}

/// Most threads of a block.
template <auto Function>
inline constexpr std::uint32_t kBlockBound =
    kCudaShape<Function>.block_threads != 0 ? kCudaShape<Function>.block_threads : kMostCudaThreads;

template <auto Function, class View, class Arguments, std::size_t kCount>
__global__ void __launch_bounds__(kBlockBound<Function>)
    shade(const View view, const SegmentsOf<Arguments, kCount> segments, const Signal signal) {
  const auto& segment = segments.at[blockIdx.y];
  offload::PayloadBases bases{};
  if constexpr (offload::has_payload(Arguments{})) bases = segment.bases;
  offload::call<Function>(view, segment.columns, bases, segment.items, Arguments{});
  tell_the_host(signal);
}

/// The kernel of `Function`.
template <auto Function>
struct ShaderKernel;

template <class View, class... Rest, void (*Function)(View, Rest...)>
struct ShaderKernel<Function> {
  using Arguments = typename detail::WithoutCount<detail::ArgumentList<>, Rest...>::type;
  static Kernel describe() {
    return {{function<kFewSegments>(), function<kMostSegments>()}, kCudaShape<Function>.shared_bytes, &launch};
  }

  static cudaError_t launch(const Launch& launch, const Signal& signal, const Way& way) {
    return launch.segments.size() <= kFewSegments ? launch_of<kFewSegments>(launch, signal, way)
                                                  : launch_of<kMostSegments>(launch, signal, way);
  }

 private:
  template <std::size_t kCount>
  static const void* function() {
    return reinterpret_cast<const void*>(&shade<Function, View, Arguments, kCount>);
  }
  template <std::size_t kCount>
  static cudaError_t launch_of(const Launch& launch, const Signal& signal, const Way& way) {
    constexpr std::uint32_t kWarp = 32, kMostBlocks = 1024;
    View view;
    std::memcpy(&view, launch.view, sizeof view);
    SegmentsOf<Arguments, kCount> segments;
    static_assert(sizeof view + sizeof segments + sizeof signal <= kMostArgumentBytes);
    std::uint32_t items = 1;
    for (std::size_t i = 0; i < launch.segments.size(); ++i) {
      const Segment& segment = launch.segments[i];
      list_columns(segment, segments.at[i].columns, offload::AllColumns<Arguments>{});
      if constexpr (offload::has_payload(Arguments{})) {
        segments.at[i].bases = {segment.source, segment.destination};
      }
      segments.at[i].items = segment.items;
      items = std::max(items, launch.segments[i].items);
    }
    constexpr CudaShape kShape = kCudaShape<Function>;
    const std::uint64_t teams = (items + kShape.items_per_team - 1) / kShape.items_per_team;
    const std::uint64_t all = teams * kShape.threads_per_item;
    const auto wanted = static_cast<std::uint32_t>(std::min<std::uint64_t>(all + kWarp - 1, kMostCudaThreads));
    const std::uint32_t threads = kShape.block_threads != 0 ? kShape.block_threads : wanted / kWarp * kWarp;
    const auto blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>((all + threads - 1) / threads, kMostBlocks));
    const dim3 grid(blocks, static_cast<unsigned>(launch.segments.size()));
    Signal told = signal;
    std::array<void*, 3> arguments{&view, &segments, &told};
    return way.give(function<kCount>(), grid, threads, kShape.shared_bytes, arguments.data());
  }
};

}  // namespace penumbra::cuda
