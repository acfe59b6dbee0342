// SPDX-License-Identifier: Apache-2.0
#include "energy.h"

#include <fstream>
#include <string>
#include <system_error>

namespace penumbra::bench {
namespace {

/// Returns the number in a file of the kernel, or none.
std::optional<double> number_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  double number = 0;
  if (stream >> number) return number;
  return std::nullopt;
}

}  // namespace

EnergyMeters::EnergyMeters(const Nvml& nvml, const std::filesystem::path& powercap) : nvml_(nvml) {
  for (std::size_t gpu = 0; gpu < nvml.gpus(); ++gpu) {
    if (const auto joules = nvml.joules(gpu)) gpus_.push_back({gpu, *joules});
  }
  std::error_code none;
  for (const auto& zone : std::filesystem::directory_iterator(powercap, none)) {
    std::ifstream names(zone.path() / "name");
    std::string name;
    // Some processors have a second zone of the same name, which reads the same counter in another way.
    if (!zone.path().filename().string().starts_with("intel-rapl:")) continue;
    if (!std::getline(names, name) || !name.starts_with("package")) continue;
    const auto most = number_in(zone.path() / "max_energy_range_uj");
    const auto last = number_in(zone.path() / "energy_uj");
    if (most && last) packages_.push_back({zone.path() / "energy_uj", *most, *last});
  }
}

Energy EnergyMeters::since_last() {
  Energy energy;
  for (Package& each : packages_) {
    const double now = number_in(each.counter).value_or(each.last);
    const double taken = now >= each.last ? now - each.last : now + each.most - each.last;
    energy.processors = energy.processors.value_or(0) + taken * 1e-6;
    each.last = now;
  }
  for (Gpu& each : gpus_) {
    const double now = nvml_.joules(each.number).value_or(each.last);
    energy.gpus = energy.gpus.value_or(0) + now - each.last;
    each.last = now;
  }
  return energy;
}

}  // namespace penumbra::bench
