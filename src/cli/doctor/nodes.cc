// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "cli/doctor/check.h"

namespace penumbra::cli::doctor {
namespace {

/// Returns the number of a name like "node1"; nothing for other names.
std::optional<unsigned> node_number(std::string_view name) {
  constexpr std::string_view kPrefix = "node";
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) return std::nullopt;
  unsigned number = 0;
  for (const char digit : name.substr(kPrefix.size())) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + static_cast<unsigned>(digit - '0');
  }
  return number;
}

/// Returns the numbers of all names like "node1" in a folder, in order.
std::vector<unsigned> nodes_in(const Machine& machine, const std::string& folder) {
  std::vector<unsigned> nodes;
  for (const auto& name : machine.list(folder)) {
    if (const auto number = node_number(name)) nodes.push_back(*number);
  }
  std::ranges::sort(nodes);
  return nodes;
}

struct Device {
  std::string name;
  std::optional<std::uint64_t> node;
  const char* consequence;
};

std::vector<Device> configured_devices(const Machine& machine) {
  std::vector<Device> devices;
  const auto add = [&](const std::string& name, const std::string& folder, const char* consequence) {
    devices.push_back({name, machine.number(folder + "/numa_node"), consequence});
  };
  constexpr const char* kOfCard = "each packet crosses to another node";
  for (const auto& address : machine.pci_addresses()) add(address, kPciDevices + address, kOfCard);
  for (const auto& port : machine.interface_ports()) {
    add(port.interface, "sys/class/net/" + port.interface + "/device", kOfCard);
  }
  for (const auto& address : nvidia_cards(machine)) {
    add(address, kPciDevices + address, "batches for this GPU cross to another node");
  }
  return devices;
}

std::vector<Finding> nodes(const Machine& machine) {
  const auto all = nodes_in(machine, "sys/devices/system/node");
  if (all.size() < 2) return {{State::ok, "one node", ""}};
  if (!machine.has_config()) return {{State::ok, fmt::format("nodes {}", fmt::join(all, ", ")), ""}};
  std::vector<unsigned> of_workers;
  for (const unsigned core : machine.worker_cores()) {
    for (const unsigned node : nodes_in(machine, fmt::format("sys/devices/system/cpu/cpu{}", core))) {
      if (std::ranges::find(of_workers, node) == of_workers.end()) of_workers.push_back(node);
    }
  }
  std::ranges::sort(of_workers);
  std::vector<Finding> findings;
  for (const auto& [name, node, consequence] : configured_devices(machine)) {
    if (!node || std::ranges::find(of_workers, *node) != of_workers.end()) continue;
    findings.push_back({State::hint,
                        fmt::format("{} is on node {}, and workers are on {}: {}", name, *node,
                                    fmt::join(of_workers, ", "), consequence),
                        fmt::format("cat /sys/devices/system/node/node{}/cpulist", *node)});
  }
  if (!findings.empty()) return findings;
  return {{State::ok, fmt::format("workers on nodes {}, as cards and GPUs are", fmt::join(of_workers, ", ")), ""}};
}

}  // namespace

std::vector<Check> node_checks() {
  return {{"NUMA nodes", nodes}};
}

}  // namespace penumbra::cli::doctor
