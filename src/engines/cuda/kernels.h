// SPDX-License-Identifier: Apache-2.0
//
// Registry of the shaders that were compiled for the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda/device.h"
#include "variants.h"

namespace penumbra::cuda {

/// Signals the end of a kernel to the host, sooner than an event does and at less cost per query.
struct Signal {
  std::uint32_t* blocks = nullptr;  ///< Counter of finished blocks in device memory; 0 between launches.
  std::uint32_t* flag = nullptr;    ///< Host flag that becomes `value`; null if the host needs no signal.
  std::uint32_t value = 0;
};

/// Size limit of a kernel's arguments. CUDA 12.1 and newer allow 32,764 bytes from compute capability 7.0 on.
inline constexpr std::size_t kMostArgumentBytes = 8192;

/// Passes a kernel to a stream, by a launch or by an instantiated graph whose node receives the kernel, its grid and
/// its arguments. The graph costs the thread less time and starts the kernel sooner, all the more with short arguments
/// (penumbra-bench run gpu: E2).
struct Way {
  cudaStream_t stream = nullptr;
  cudaGraphExec_t graph = nullptr;  ///< Null: a plain launch.
  cudaGraphNode_t node = nullptr;   ///< The graph's only node.

  /// Sets the graph's node without a launch.
  cudaError_t set(const void* function, dim3 grid, dim3 block, std::uint32_t shared_bytes, void** arguments) const;
  cudaError_t give(const void* function, dim3 grid, dim3 block, std::uint32_t shared_bytes, void** arguments) const;
};

/// A shader as a kernel, in two versions: `functions` has one for few segments, with short arguments, and one for many.
struct Kernel {
  std::array<const void*, 2> functions{};
  std::uint32_t shared_bytes = 0;  ///< Dynamic shared memory of a block.
  cudaError_t (*launch)(const Launch& launch, const Signal& signal, const Way& way) = nullptr;
};

/// Returns the registry, which registrations before main() fill.
Variants<Kernel>& kernels();

/// Copies `count` ranges. `ranges` is a device address; `shift` converts the host addresses in the ranges into device
/// addresses.
cudaError_t launch_scatter(const CopyRange* ranges, std::uint32_t count, std::ptrdiff_t shift, cudaStream_t stream);
/// Adds the scatter kernel, without ranges, to a graph.
cudaError_t add_scatter(cudaGraph_t graph, cudaGraphNode_t& node);
const void* scatter_kernel();

}  // namespace penumbra::cuda
