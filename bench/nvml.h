// SPDX-License-Identifier: Apache-2.0
//
// NVML, with which NVIDIA's driver tells of its GPUs without beginning CUDA: so who asks can still be forked.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace penumbra::bench {

/// The functions of it that are called, by their names there without "nvml"; 0 is success.
struct NvmlFunctions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char* text, unsigned bytes) = nullptr;
  int (*device_count)(unsigned* count) = nullptr;
  int (*device_handle)(unsigned index, void** device) = nullptr;
  int (*device_energy)(void* device, unsigned long long* millijoules) = nullptr;
  int (*device_pcie_generation)(void* device, unsigned* generation) = nullptr;  ///< the most of GPU and slot together
  int (*device_pcie_width)(void* device, unsigned* lanes) = nullptr;            ///< likewise
};

class Nvml {
 public:
  /// The driver's; one without GPUs where there is no driver.
  Nvml();
  /// These functions in place of the driver's, all of them.
  explicit Nvml(const NvmlFunctions& functions);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  std::size_t gpus() const { return devices_.size(); }
  /// Empty if it does not tell.
  std::string driver_version() const;
  /// Of a GPU, "PCIe generation 5, 16 lanes": what it and its slot can do, for an idle link goes slower. Empty if the
  /// driver does not tell, as in some virtual machines.
  std::string bus(std::size_t gpu) const;
  /// What a GPU has taken since some moment, in J; nothing if it does not tell.
  std::optional<double> joules(std::size_t gpu) const;

 private:
  void begin();

  void* library_ = nullptr;
  NvmlFunctions functions_;
  bool is_begun_ = false;
  std::vector<void*> devices_;
};

}  // namespace penumbra::bench
