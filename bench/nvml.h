// SPDX-License-Identifier: Apache-2.0
//
// NVML, the library by which NVIDIA's driver describes its GPUs. NVML does not initialize CUDA, so its callers can
// still fork.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace penumbra::bench {

/// NVML functions in use, named without the prefix "nvml". Each function returns 0 on success.
struct NvmlFunctions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char* text, unsigned bytes) = nullptr;
  int (*device_count)(unsigned* count) = nullptr;
  int (*device_handle)(unsigned index, void** device) = nullptr;
  int (*device_energy)(void* device, unsigned long long* millijoules) = nullptr;
  int (*device_pcie_generation)(void* device, unsigned* generation) = nullptr;  ///< Maximum of GPU and slot together.
  int (*device_pcie_width)(void* device, unsigned* lanes) = nullptr;            ///< Maximum of GPU and slot together.
};

class Nvml {
 public:
  /// Loads the driver's NVML; has no GPUs if there is no driver.
  Nvml();
  /// Uses the given functions instead of the driver's. All must be set.
  explicit Nvml(const NvmlFunctions& functions);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  std::size_t gpus() const { return devices_.size(); }
  /// Returns an empty string if it is unknown.
  std::string driver_version() const;
  /// Returns the bus of a GPU, "PCIe generation 5, 16 lanes": the maximum of GPU and slot, because an idle link is
  /// slower. Empty if the driver does not report it, as in some virtual machines.
  std::string bus(std::size_t gpu) const;
  /// Returns the energy of a GPU since some moment, in J; none if it is unknown.
  std::optional<double> joules(std::size_t gpu) const;

 private:
  void begin();

  void* library_ = nullptr;
  NvmlFunctions functions_;
  bool is_begun_ = false;
  std::vector<void*> devices_;
};

}  // namespace penumbra::bench
