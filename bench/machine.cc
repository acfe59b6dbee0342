// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

namespace penumbra::bench {
namespace {

/// A file's first line, empty if there is none.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The value of the first `KEY : VALUE` line of a file in the style of /proc.
std::string field(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
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

void put(nlohmann::json& object, const char* key, std::string value) {
  if (!value.empty()) object[key] = std::move(value);
}

}  // namespace

nlohmann::json describe_machine() {
  nlohmann::json machine = nlohmann::json::object();
  put(machine, "processor", field("/proc/cpuinfo", "model name"));
  machine["cores"] = std::thread::hardware_concurrency();
  put(machine, "caches", caches());
  put(machine, "memory", field("/proc/meminfo", "MemTotal"));
  put(machine, "huge pages", field("/proc/meminfo", "HugePages_Total"));
  put(machine, "transparent huge pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  utsname system{};
  if (uname(&system) == 0) put(machine, "kernel", fmt::format("{} {}", system.sysname, system.release));
  put(machine, "load average", first_line("/proc/loadavg"));
  return machine;
}

}  // namespace penumbra::bench
