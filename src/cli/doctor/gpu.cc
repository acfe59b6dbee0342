// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "cli/doctor/check.h"

namespace penumbra::cli::doctor {
namespace {

/// minimum version of the driver for CUDA 13
constexpr unsigned long kLeastDriver = 580;
/// The driver is from NVIDIA's archive for Debian 12, because Debian's own driver is too old.
constexpr char kInstallDriver[] =
    "wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb && "
    "dpkg -i cuda-keyring_1.1-1_all.deb && apt-get update && apt-get install nvidia-open";

/// Returns the version of the driver, "580.65.06"; empty if it is unknown.
std::string driver_version(const Machine& machine) {
  if (const auto version = machine.read("sys/module/nvidia/version")) return *version;
  const std::string text = machine.read("proc/driver/nvidia/version").value_or("");
  std::istringstream words(text.substr(0, text.find('\n')));  // the next line is about the compiler
  const auto is_version = [](const std::string& word) {
    return word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos;
  };
  for (std::string word; words >> word;) {
    if (is_version(word)) return word;
  }
  return "";
}

std::vector<Finding> gpu(const Machine& machine) {
  const auto cards = nvidia_cards(machine);
  const auto gpus = machine.list("proc/driver/nvidia/gpus");
  if (gpus.empty() && cards.empty()) return {{State::ok, "none; shaders run on the CPU", ""}};
  if (!machine.exists("proc/driver/nvidia/version")) {
    return {{State::hint,
             fmt::format("{} is there, but not its driver; shaders run on the CPU",
                         cards.empty() ? gpus.front() : cards.front()),
             kInstallDriver}};
  }
  const std::string version = driver_version(machine);
  if (!version.empty() && std::strtoul(version.c_str(), nullptr, 10) < kLeastDriver) {
    return {{State::hint,
             fmt::format("the driver is version {}, and CUDA 13 needs {} or newer; shaders run on the CPU", version,
                         kLeastDriver),
             kInstallDriver}};
  }
  const std::string driver = version.empty() ? "driver of a version that it does not say" : "driver " + version;
  const auto nodes = machine.list("dev");
  const auto usable = std::ranges::count_if(nodes, [](const std::string& name) {
    return name.starts_with("nvidia") && name.size() > 6 && name[6] >= '0' && name[6] <= '9';
  });
  if (usable == 0) {
    return {{State::hint, fmt::format("{} is there, but no device /dev/nvidia0", driver), "nvidia-modprobe -c 0 -u"}};
  }
  return {{State::ok, fmt::format("{} with device and {}", usable, driver), ""}};
}

}  // namespace

// Judges by PCI vendor and class (display controller).
std::vector<std::string> nvidia_cards(const Machine& machine) {
  std::vector<std::string> cards;
  for (const auto& address : machine.list(kPciDevices)) {
    const bool nvidia = machine.read(kPciDevices + address + "/vendor").value_or("") == "0x10de";
    if (nvidia && machine.read(kPciDevices + address + "/class").value_or("").starts_with("0x03"))
      cards.push_back(address);
  }
  return cards;
}

std::vector<Check> gpu_checks() {
  return {{"GPU", gpu}};
}

}  // namespace penumbra::cli::doctor
