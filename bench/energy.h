// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

#include "nvml.h"

namespace penumbra::bench {

/// Energy in J, of all devices of a kind together; none if there is no meter.
struct Energy {
  std::optional<double> processors, gpus;
};

/// Reads the energy meters of processors (RAPL, by Linux' powercap) and NVIDIA GPUs (NVML). Virtual machines usually
/// have only the latter.
class EnergyMeters {
 public:
  /// `nvml` must outlive it.
  explicit EnergyMeters(const Nvml& nvml, const std::filesystem::path& powercap = "/sys/class/powercap");

  /// Returns the energy since the last call, or since construction.
  Energy since_last();

 private:
  /// A processor package; its counter wraps around at `most`.
  struct Package {
    std::filesystem::path counter;
    double most, last;  ///< Microjoules.
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
