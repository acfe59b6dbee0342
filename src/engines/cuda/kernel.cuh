// SPDX-License-Identifier: Apache-2.0
//
// A shader as a kernel over the segments of a launch. Each row of the grid is a segment, whose items the threads of the
// row share as `foreach` says (gopt.h).
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

namespace penumbra::cuda {

/// As a kernel takes them: by value, in its parameters.
struct Segments {
  Segment at[kMostSegments];
};

/// The column of a segment that begins `offset` bytes behind the first one of its direction.
template <class Pointer>
__device__ Pointer column_at(const Segment& segment, std::size_t offset) {
  static_assert(!ShaderArgument<Pointer>::is_arena, "the engine takes columns, no payload");
  if constexpr (ShaderArgument<Pointer>::is_input) {
    return reinterpret_cast<Pointer>(segment.inputs + offset);
  } else {
    return reinterpret_cast<Pointer>(segment.outputs + offset);
  }
}

/// Bytes of the columns before the one at `Position` that go in its direction.
template <std::size_t Position, class... Column>
__device__ std::size_t offset_of(std::uint32_t items) {
  constexpr bool kInputs[] = {ShaderArgument<Column>::is_input...};
  constexpr std::size_t kElementBytes[] = {ShaderArgument<Column>::element_bytes...};
  std::size_t offset = 0;
#pragma unroll
  for (std::size_t i = 0; i != Position; ++i) {
    if (kInputs[i] == kInputs[Position]) offset += padded(items * kElementBytes[i]);
  }
  return offset;
}

template <auto Function, class View, class... Column, std::size_t... Position>
__device__ void run(const View& view, const Segment& segment, detail::ArgumentList<Column...>,
                    std::index_sequence<Position...>) {
  Function(view, column_at<Column>(segment, offset_of<Position, Column...>(segment.items))..., segment.items);
}

template <auto Function, class View, class Columns, class Positions>
__global__ void shade(const View view, const Segments segments) {
  run<Function>(view, segments.at[blockIdx.y], Columns{}, Positions{});
}

/// The kernel of `Function`, a shader without an arena.
template <auto Function>
struct ShaderKernel;

template <class View, class... Arguments, void (*Function)(View, Arguments...)>
struct ShaderKernel<Function> {
  using Columns = typename detail::WithoutCount<detail::ArgumentList<>, Arguments...>::type;
  using Positions = std::make_index_sequence<sizeof...(Arguments) - 1>;
  static constexpr auto kFunction = &shade<Function, View, Columns, Positions>;

  static cudaError_t launch(const Launch& launch, cudaStream_t stream) {
    constexpr std::uint32_t kWarp = 32, kMostThreads = 256, kMostBlocks = 1024;
    View view;
    std::memcpy(&view, launch.view, sizeof view);
    Segments segments;
    std::uint32_t items = 1;
    for (std::size_t i = 0; i < launch.segments.size(); ++i) {
      segments.at[i] = launch.segments[i];
      items = std::max(items, launch.segments[i].items);
    }
    const std::uint32_t threads = std::min((items + kWarp - 1) / kWarp * kWarp, kMostThreads);
    const dim3 grid(std::min((items + threads - 1) / threads, kMostBlocks),
                    static_cast<unsigned>(launch.segments.size()));
    std::array<void*, 2> arguments{&view, &segments};
    return cudaLaunchKernel(reinterpret_cast<const void*>(kFunction), grid, threads, arguments.data(), 0, stream);
  }
};

}  // namespace penumbra::cuda
