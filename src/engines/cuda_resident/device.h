// SPDX-License-Identifier: Apache-2.0
//
// The seam between the engine `cuda-resident` and the GPU. The runtime's form of it is in runtime_device.cc; the tests
// have one whose groups are threads of the CPU.
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

/// A GPU and the kernel that stays on it. All calls come from one thread, but stop() of an abandoned one, which another
/// makes that nobody waits for. All but the destructor and abandon() throw
/// DeviceError; the device is then to be destroyed, or abandoned if the failure is final.
class ResidentDevice {
 public:
  ResidentDevice() = default;
  ResidentDevice(const ResidentDevice&) = delete;
  ResidentDevice& operator=(const ResidentDevice&) = delete;
  /// The kernel has ended, or was never started.
  virtual ~ResidentDevice() = default;
  /// In place of the destructor. Nothing is asked of it then but whether the kernel has ended, and to have it end.
  virtual void abandon(const std::string& reason) noexcept = 0;

  /// Its memory and its streams; the kernel has one that is not among these. Taking, giving back and sharing memory may
  /// wait until the kernel has ended.
  virtual cuda::Device& memory() = 0;
  /// Groups that it holds at once.
  virtual std::uint32_t most_slots() const = 0;
  /// Starts the kernel, of a group for each of the first `slots` slots in the roster (its address on the device). A
  /// group goes on with the batch behind the one that its slot's first block of results is of.
  virtual void start(const Roster* roster, std::uint32_t slots) = 0;
  /// Has the groups end, each when it has no batch.
  virtual void stop() = 0;
  /// Whether the kernel has ended. Also how its failure comes to light.
  virtual bool has_ended() = 0;
};

/// What an engine runs on: how to open device number `index` for groups of so many threads, and the shaders of its
/// kernel, by their index.
struct Backend {
  /// Throws DeviceError. Called on the thread that will use the device.
  std::function<std::unique_ptr<ResidentDevice>(unsigned index, std::uint32_t threads)> open;
  std::function<const Shader*(const std::string& name)> find_shader;
  std::function<std::uint16_t(const Shader& shader)> index_of;
  std::vector<int> nodes;  ///< of each device, at least one: the NUMA node near it, or below 0
};

}  // namespace penumbra::cuda_resident
