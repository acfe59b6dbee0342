// SPDX-License-Identifier: Apache-2.0
//
// The shaders that were compiled for the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda/device.h"
#include "variants.h"

namespace penumbra::cuda {

/// How a kernel tells the host that all of it has ended, sooner than an event does and cheaper to look at.
struct Signal {
  std::uint32_t* blocks = nullptr;  ///< in the device's memory: those that have ended; 0 between launches
  std::uint32_t* flag = nullptr;    ///< in the host's: becomes `value`; null: the host does not want to know
  std::uint32_t value = 0;
};

/// So long a kernel's arguments may be together, on every GPU.
inline constexpr std::size_t kMostArgumentBytes = 4096;

/// How a kernel is given to a stream: by a launch, or by a graph that stands ready and is given the kernel, its grid
/// and its arguments, which takes the thread less time and has the kernel begin sooner, the more so the less its
/// arguments are (penumbra bench gpu: E2).
struct Way {
  cudaStream_t stream = nullptr;
  cudaGraphExec_t graph = nullptr;  ///< null: by a launch
  cudaGraphNode_t node = nullptr;   ///< the graph's only one

  /// What give() sets a graph to.
  cudaError_t set(const void* function, dim3 grid, dim3 block, void** arguments) const;
  cudaError_t give(const void* function, dim3 grid, dim3 block, void** arguments) const;
};

/// A shader as a kernel: one for few segments, whose arguments are short, and one for many.
struct Kernel {
  std::array<const void*, 2> functions{};
  cudaError_t (*launch)(const Launch& launch, const Signal& signal, const Way& way) = nullptr;
};

/// Filled before main() begins.
Variants<Kernel>& kernels();

/// Copies ranges; `ranges` is the device's address of them, `shift` what turns a host address in them into the
/// device's.
cudaError_t launch_scatter(const CopyRange* ranges, std::uint32_t count, std::ptrdiff_t shift, cudaStream_t stream);
/// Adds to a graph that kernel, of no ranges.
cudaError_t add_scatter(cudaGraph_t graph, cudaGraphNode_t& node);
const void* scatter_kernel();

}  // namespace penumbra::cuda
