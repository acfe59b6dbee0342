// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/proc.h"
#include "nvml.h"

namespace penumbra::bench {
namespace {

/// Returns a file's first line, empty if there is none.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Returns properties that distinguish processors of the same name; empty if unknown.
std::string processor_id() {
  std::string text;
  for (const char* each : {"cpu family", "model", "stepping"}) {
    const std::string value = proc_value("/proc/cpuinfo", each);
    if (!value.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", each, value);
  }
  return text;
}

std::string caches() {
  std::string text;
  for (int index = 0;; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const std::string level = first_line(folder + "level");
    if (level.empty()) return text;
    const std::string type = first_line(folder + "type");
    const std::string letter = type == "Data" ? "d" : type == "Instruction" ? "i" : "";
    text += fmt::format("{}L{}{} {}", text.empty() ? "" : ", ", level, letter, first_line(folder + "size"));
  }
}

/// Returns the buses of all GPUs that the driver reports.
std::string buses(const Nvml& nvml) {
  std::string text;
  for (std::size_t gpu = 0; gpu < nvml.gpus(); ++gpu) {
    const std::string bus = nvml.bus(gpu);
    if (!bus.empty()) text += (text.empty() ? "" : "; ") + bus;
  }
  return text;
}

void put(nlohmann::json& object, const char* key, std::string value) {
  if (!value.empty()) object[key] = std::move(value);
}

}  // namespace

nlohmann::json describe_machine(const Nvml& nvml) {
  nlohmann::json machine = nlohmann::json::object();
  put(machine, "processor", proc_value("/proc/cpuinfo", "model name"));
  put(machine, "processor id", processor_id());
  put(machine, "AVX-512", __builtin_cpu_supports("x86-64-v4") != 0 ? "yes" : "no");
  machine["cores"] = std::thread::hardware_concurrency();
  put(machine, "caches", caches());
  put(machine, "memory", proc_value("/proc/meminfo", "MemTotal"));
  put(machine, "huge pages", proc_value("/proc/meminfo", "HugePages_Total"));
  put(machine, "transparent huge pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  utsname system{};
  if (uname(&system) == 0) put(machine, "kernel", fmt::format("{} {}", system.sysname, system.release));
  put(machine, "load average", first_line("/proc/loadavg"));
  put(machine, "gpu driver", nvml.driver_version());
  put(machine, "gpu bus", buses(nvml));
  return machine;
}

}  // namespace penumbra::bench
