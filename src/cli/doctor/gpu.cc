// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cli/doctor/check.h"

namespace penumbra::cli::doctor {
namespace {

/// NVIDIA's cards, by PCI vendor and class (display or processing accelerator of that kind).
std::vector<std::string> nvidia_cards(const Machine& machine) {
  std::vector<std::string> cards;
  for (const auto& address : machine.list(kPciDevices)) {
    const bool nvidia = machine.read(kPciDevices + address + "/vendor").value_or("") == "0x10de";
    if (nvidia && machine.read(kPciDevices + address + "/class").value_or("").starts_with("0x03"))
      cards.push_back(address);
  }
  return cards;
}

std::vector<Finding> gpu(const Machine& machine) {
  const auto cards = nvidia_cards(machine);
  const auto gpus = machine.list("proc/driver/nvidia/gpus");
  if (gpus.empty() && cards.empty()) return {{State::ok, "none; shaders run on the CPU", ""}};
  if (!machine.exists("proc/driver/nvidia/version")) {
    return {{State::hint, fmt::format("{} is there, but not its driver; shaders run on the CPU", cards.front()),
             "apt-get install nvidia-driver"}};
  }
  const auto nodes = machine.list("dev");
  const auto usable = std::ranges::count_if(nodes, [](const std::string& name) {
    return name.starts_with("nvidia") && name.size() > 6 && name[6] >= '0' && name[6] <= '9';
  });
  if (usable == 0) {
    return {{State::hint, "the driver is there, but no device /dev/nvidia0", "nvidia-modprobe -c 0 -u"}};
  }
  return {{State::ok, fmt::format("{} with driver and device", usable), ""}};
}

}  // namespace

std::vector<Check> gpu_checks() {
  return {{"GPU", gpu}};
}

}  // namespace penumbra::cli::doctor
