// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

#include "nvml.h"

namespace penumbra::bench {

/// In J, of all of a kind together; nothing of what no meter tells.
struct Energy {
  std::optional<double> processors, gpus;
};

/// What processors (RAPL, by Linux' powercap) and NVIDIA GPUs (NVML) say of the energy that they have taken. Virtual
/// machines mostly have the latter only.
class EnergyMeters {
 public:
  /// `nvml` outlives it.
  explicit EnergyMeters(const Nvml& nvml, const std::filesystem::path& powercap = "/sys/class/powercap");

  /// Since the last call, or since there is this object.
  Energy since_last();

 private:
  /// A processor package; its counter begins anew at `most`.
  struct Package {
    std::filesystem::path counter;
    double most, last;  ///< microjoules
  };
  struct Gpu {
    std::size_t number;
    double last;
  };

  const Nvml& nvml_;
  std::vector<Package> packages_;
  std::vector<Gpu> gpus_;
};

}  // namespace penumbra::bench
