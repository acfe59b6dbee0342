// SPDX-License-Identifier: Apache-2.0
#include "base/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bitset>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace penumbra {
namespace {

constexpr std::size_t kMostNodes = sizeof(unsigned long) * CHAR_BIT;

int read_node(const std::filesystem::path& path) {
  std::ifstream file(path);
  int node = -1;
  return file >> node ? node : -1;
}

}  // namespace

std::filesystem::path sysfs_root() {
  const char* const replaced = std::getenv("PENUMBRA_SYSFS");
  return replaced == nullptr || *replaced == '\0' ? "/sys" : replaced;
}

int node_of_core(unsigned core, const std::filesystem::path& sys) {
  std::error_code error;
  const auto folder = sys / "devices/system/cpu" / ("cpu" + std::to_string(core));
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node")) continue;
    const char* const end = name.data() + name.size();
    int node = -1;
    const auto [after, failure] = std::from_chars(name.data() + 4, end, node);
    if (failure == std::errc() && after == end) return node;
  }
  return -1;
}

int node_of_pci(const std::string& address, const std::filesystem::path& sys) {
  return read_node(sys / "bus/pci/devices" / address / "numa_node");
}

int node_of_interface(const std::string& name, const std::filesystem::path& sys) {
  return read_node(sys / "class/net" / name / "device/numa_node");
}

bool take_memory_of(std::span<const int> nodes) {
  std::bitset<kMostNodes> wanted;
  for (const int node : nodes) {
    if (node >= 0 && static_cast<std::size_t>(node) < kMostNodes) wanted.set(static_cast<std::size_t>(node));
  }
  if (wanted.none()) return true;
  const unsigned long mask = wanted.to_ulong();
  const int mode = wanted.count() == 1 ? MPOL_PREFERRED : MPOL_INTERLEAVE;
  return syscall(SYS_set_mempolicy, mode, &mask, kMostNodes + 1) == 0;
}

void take_local_memory() {
  syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
}

}  // namespace penumbra
