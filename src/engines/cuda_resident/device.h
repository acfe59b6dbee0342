// SPDX-License-Identifier: Apache-2.0
//
// Interface between the engine `cuda-resident` and the GPU. runtime_device.cc implements it with the CUDA runtime;
// tests have an implementation whose groups are CPU threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "cuda_resident/layout.h"

namespace penumbra::cuda_resident {

using cuda::DeviceError;

/// A GPU and its resident kernel. All calls come from one thread, except stop() of an abandoned device, which comes
/// from a detached thread. All members but the destructor and abandon() throw DeviceError. The caller must then destroy
/// the device, or abandon it if the failure is final.
class ResidentDevice {
 public:
  ResidentDevice() = default;
  ResidentDevice(const ResidentDevice&) = delete;
  ResidentDevice& operator=(const ResidentDevice&) = delete;
  /// The kernel must have ended, or must never have been started.
  virtual ~ResidentDevice() = default;
  /// Call instead of the destructor if it may never return. Afterwards only has_ended() and stop() may be called.
  virtual void abandon(const std::string& reason) noexcept = 0;

  /// Returns the device's memory and streams; the kernel's stream is separate. Allocating, freeing and sharing memory
  /// may wait until the kernel has ended.
  virtual cuda::Device& memory() = 0;
  /// Returns the number of groups that run at once.
  virtual std::uint32_t most_slots() const = 0;
  /// Starts the kernel with a group for each of the first `slots` slots in the roster, which is a device address. A
  /// group continues with the batch whose number follows the number in its slot's first result block.
  virtual void start(const Roster* roster, std::uint32_t slots) = 0;
  /// Makes the groups end, each when it has no batch.
  virtual void stop() = 0;
  /// Returns true if the kernel has ended. Throws the kernel's failure.
  virtual bool has_ended() = 0;
};

/// The devices of an engine, and the shaders of its kernel with their indices.
struct Backend {
  /// Opens device `index` for groups of `threads` threads. Throws DeviceError. Called on the thread that will use the
  /// device.
  std::function<std::unique_ptr<ResidentDevice>(unsigned index, std::uint32_t threads)> open;
  std::function<const Shader*(const std::string& name)> find_shader;
  std::function<std::uint16_t(const Shader& shader)> index_of;
  std::vector<int> nodes;  ///< NUMA node near each device, at least one element; below 0 if unknown.
};

}  // namespace penumbra::cuda_resident
