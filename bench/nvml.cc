// SPDX-License-Identifier: Apache-2.0
#include "nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

namespace penumbra::bench {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

// The library belongs to the driver, so it is loaded at run time instead of linked.
Nvml::Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
  if (library_ == nullptr || !find(library_, "nvmlInit_v2", functions_.init) ||
      !find(library_, "nvmlShutdown", functions_.shutdown) ||
      !find(library_, "nvmlSystemGetDriverVersion", functions_.driver_version) ||
      !find(library_, "nvmlDeviceGetCount_v2", functions_.device_count) ||
      !find(library_, "nvmlDeviceGetHandleByIndex_v2", functions_.device_handle) ||
      !find(library_, "nvmlDeviceGetTotalEnergyConsumption", functions_.device_energy) ||
      !find(library_, "nvmlDeviceGetMaxPcieLinkGeneration", functions_.device_pcie_generation) ||
      !find(library_, "nvmlDeviceGetMaxPcieLinkWidth", functions_.device_pcie_width)) {
    return;
  }
  begin();
}

Nvml::Nvml(const NvmlFunctions& functions) : functions_(functions) {
  begin();
}

Nvml::~Nvml() {
  if (is_begun_) functions_.shutdown();
  if (library_ != nullptr) dlclose(library_);
}

void Nvml::begin() {
  is_begun_ = functions_.init() == 0;
  unsigned count = 0;
  if (!is_begun_ || functions_.device_count(&count) != 0) return;
  for (unsigned gpu = 0; gpu < count; ++gpu) {
    void* device = nullptr;
    if (functions_.device_handle(gpu, &device) == 0) devices_.push_back(device);
  }
}

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};  // NVML's own limit is 80.
  if (!is_begun_ || functions_.driver_version(text.data(), text.size()) != 0) return "";
  return text.data();
}

std::string Nvml::bus(std::size_t gpu) const {
  unsigned generation = 0, lanes = 0;
  if (functions_.device_pcie_generation(devices_[gpu], &generation) != 0 ||
      functions_.device_pcie_width(devices_[gpu], &lanes) != 0 || generation == 0 || lanes == 0) {
    return "";
  }
  return fmt::format("PCIe generation {}, {} lanes", generation, lanes);
}

std::optional<double> Nvml::joules(std::size_t gpu) const {
  unsigned long long millijoules = 0;
  if (functions_.device_energy(devices_[gpu], &millijoules) != 0) return std::nullopt;
  return static_cast<double>(millijoules) * 1e-3;
}

}  // namespace penumbra::bench
