// SPDX-License-Identifier: Apache-2.0
//
// Runs a shader as a kernel over the segments of a launch. Each row of the grid is a segment. The threads of the row
// share its items by `foreach` (gopt.h), or by the shader's CUDA form (tables/cuda_form.h).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "cuda/device.h"
#include "cuda/kernels.h"
#include "penumbra/shader_entry.h"
#include "tables/cuda_form.h"

namespace penumbra::cuda {

/// Segments as kernel parameters, passed by value, with as many columns as the shader has.
template <std::size_t kColumns, std::size_t kCount>
struct Segments {
  struct {
    std::byte* columns[kColumns];
    std::uint32_t items;
  } at[kCount];
};

/// Launches of at most this many segments use the kernel with short arguments.
inline constexpr std::size_t kFewSegments = 4;

template <class... Column>
constexpr std::size_t count_of(detail::ArgumentList<Column...>) {
  static_assert(!(ShaderArgument<Column>::is_arena || ...), "the engine takes columns, no payload");
  return sizeof...(Column);
}

/// Writes the addresses of the segment's columns, in the order of the shader's arguments.
template <class... Column>
void list_columns(const Segment& segment, std::byte** to, detail::ArgumentList<Column...>) {
  std::size_t inputs = 0, outputs = 0;
  ((*to++ = ShaderArgument<Column>::is_input ? const_cast<std::byte*>(segment.inputs[inputs++])
                                             : segment.outputs[outputs++]),
   ...);
}

template <auto Function, class View, class CopyRange, class... Column, std::size_t... Position>
__device__ void run(const View& view, const CopyRange& piece, detail::ArgumentList<Column...>,
                    std::index_sequence<Position...>) {
  Function(view, reinterpret_cast<Column>(piece.columns[Position])..., piece.items);
}

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

template <auto Function, class View, class Columns, std::size_t kCount>
__global__ void shade(const View view, const Segments<count_of(Columns{}), kCount> segments, const Signal signal) {
  run<Function>(view, segments.at[blockIdx.y], Columns{}, std::make_index_sequence<count_of(Columns{})>{});
  tell_the_host(signal);
}

/// The kernel of `Function`, a shader without an arena.
template <auto Function>
struct ShaderKernel;

template <class View, class... Arguments, void (*Function)(View, Arguments...)>
struct ShaderKernel<Function> {
  using Columns = typename detail::WithoutCount<detail::ArgumentList<>, Arguments...>::type;
  static Kernel describe() { return {{function<kFewSegments>(), function<kMostSegments>()}, &launch}; }

  static cudaError_t launch(const Launch& launch, const Signal& signal, const Way& way) {
    return launch.segments.size() <= kFewSegments ? launch_of<kFewSegments>(launch, signal, way)
                                                  : launch_of<kMostSegments>(launch, signal, way);
  }

 private:
  template <std::size_t kCount>
  static const void* function() {
    return reinterpret_cast<const void*>(&shade<Function, View, Columns, kCount>);
  }
  template <std::size_t kCount>
  static cudaError_t launch_of(const Launch& launch, const Signal& signal, const Way& way) {
    constexpr std::uint32_t kWarp = 32, kMostBlocks = 1024;
    View view;
    std::memcpy(&view, launch.view, sizeof view);
    Segments<count_of(Columns{}), kCount> segments;
    static_assert(sizeof view + sizeof segments + sizeof signal <= kMostArgumentBytes);
    std::uint32_t items = 1;
    for (std::size_t i = 0; i < launch.segments.size(); ++i) {
      list_columns(launch.segments[i], segments.at[i].columns, Columns{});
      segments.at[i].items = launch.segments[i].items;
      items = std::max(items, launch.segments[i].items);
    }
    const std::uint32_t threads = std::min((items + kWarp - 1) / kWarp * kWarp, kMostCudaThreads);
    const dim3 grid(std::min((items + threads - 1) / threads, kMostBlocks),
                    static_cast<unsigned>(launch.segments.size()));
    Signal told = signal;
    std::array<void*, 3> arguments{&view, &segments, &told};
    return way.give(function<kCount>(), grid, threads, arguments.data());
  }
};

}  // namespace penumbra::cuda
