// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <sstream>

#include "cli/doctor/check.h"

namespace penumbra::cli::doctor {
namespace {

constexpr std::string_view kPages = "sys/kernel/mm/hugepages/hugepages-";

std::vector<Finding> huge_pages(const Machine& machine) {
  std::vector<Finding> findings;
  std::uint64_t free_bytes = 0;
  for (const auto& [name, kilobytes] : {std::pair{"2 MiB", 2048ULL}, std::pair{"1 GiB", 1048576ULL}}) {
    const std::string folder = fmt::format("{}{}kB/", kPages, kilobytes);
    const auto all = machine.number(folder + "nr_hugepages"), free = machine.number(folder + "free_hugepages");
    if (!all || !free) continue;
    findings.push_back({State::ok, fmt::format("{} pages: {} reserved, {} free", name, *all, *free), ""});
    free_bytes += *free * kilobytes * 1024;
  }
  constexpr std::uint64_t kWanted = 512ULL << 20;  // enough for the packets of a few ports and a full table
  if (free_bytes < kWanted) {
    findings.push_back(
        {State::hint,
         fmt::format("{} MiB of huge pages are free; without them memory is ordinary memory, and look-ups "
                     "in large tables miss the TLB",
                     free_bytes >> 20),
         "sysctl -w vm.nr_hugepages=512"});
  }
  return findings;
}

std::vector<Finding> huge_page_mount(const Machine& machine) {
  std::istringstream mounts(machine.read("proc/mounts").value_or(""));
  for (std::string device, place, type, rest; mounts >> device >> place >> type && std::getline(mounts, rest);) {
    if (type == "hugetlbfs") return {{State::ok, "hugetlbfs is mounted at " + place, ""}};
  }
  return {{State::hint, "hugetlbfs is not mounted: reserved huge pages cannot be used",
           "mkdir -p /dev/hugepages && mount -t hugetlbfs none /dev/hugepages"}};
}

std::vector<Finding> transparent_huge_pages(const Machine& machine) {
  const std::string modes = machine.read("sys/kernel/mm/transparent_hugepage/enabled").value_or("");
  if (modes.find("[never]") == std::string::npos && !modes.empty())
    return {{State::ok, "they are given: " + modes, ""}};
  const char* text = modes.empty() ? "this kernel has none" : "they are switched off, and could replace huge pages";
  return {{State::hint, text, modes.empty() ? "" : "printf madvise >/sys/kernel/mm/transparent_hugepage/enabled"}};
}

/// VFIO and, before Linux 5.11, AF_XDP lock their memory.
std::vector<Finding> locked_memory(const Machine& machine) {
  std::istringstream limits(machine.read("proc/self/limits").value_or(""));
  for (std::string line; std::getline(limits, line);) {
    constexpr std::string_view kName = "Max locked memory";
    if (!line.starts_with(kName)) continue;
    std::istringstream words(line.substr(kName.size()));
    std::string soft;
    words >> soft;
    if (soft == "unlimited") return {{State::ok, "without limit", ""}};
    const bool needed = !machine.pci_addresses().empty() || machine.uses_driver("net_af_xdp");
    return {
        {needed ? State::hint : State::ok,
         fmt::format("at most {} bytes may be locked; network cards by VFIO, and AF_XDP before Linux 5.11, need more",
                     soft),
         needed ? "ulimit -l unlimited" : ""}};
  }
  return {};
}

}  // namespace

std::vector<Check> memory_checks() {
  return {{"huge pages", huge_pages},
          {"huge page mount", huge_page_mount},
          {"transparent huge pages", transparent_huge_pages},
          {"locked memory", locked_memory}};
}

}  // namespace penumbra::cli::doctor
