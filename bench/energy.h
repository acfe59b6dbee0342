// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace penumbra::bench {

/// What processors (RAPL, by Linux' powercap) and NVIDIA GPUs (NVML) say of the energy that they have taken. Virtual
/// machines mostly have the latter only.
class EnergyMeters {
 public:
  EnergyMeters();
  EnergyMeters(const EnergyMeters&) = delete;
  EnergyMeters& operator=(const EnergyMeters&) = delete;
  ~EnergyMeters();

  /// Joules since the last call, all meters together; none if the machine has none or the call is the first one.
  std::optional<double> joules();

 private:
  class Gpus;
  /// A processor package; its counter begins anew at `most`.
  struct Package {
    std::filesystem::path counter;
    double most, last;
  };

  std::vector<Package> packages_;
  std::unique_ptr<Gpus> gpus_;  ///< null without NVML
  bool is_read_ = false;
};

}  // namespace penumbra::bench
