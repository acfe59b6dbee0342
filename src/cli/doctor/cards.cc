// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/doctor/check.h"

namespace penumbra::cli::doctor {
namespace {

/// Drivers with which a program owns a card or shares it with the kernel.
constexpr std::array<std::string_view, 4> kForPrograms{"vfio-pci", "igb_uio", "uio_pci_generic", "mlx5_core"};

bool is_network_card(const Machine& machine, const std::string& address) {
  return machine.read(kPciDevices + address + "/class").value_or("").starts_with("0x02");
}

/// Returns a warning if a program that takes over the card cuts off the host; empty if not.
std::string default_route_warning(const Machine& machine, const std::string& address) {
  const auto used = machine.default_route_interfaces();
  for (const auto& interface : machine.list(kPciDevices + address + "/net")) {
    if (std::ranges::find(used, interface) == used.end()) continue;
    return fmt::format(
        "; WARNING: the default route of this machine leads over it ({}), so the command below cuts off whoever is "
        "logged in by way of it",
        interface);
  }
  return "";
}

Finding judge(const Machine& machine, const std::string& address, bool configured) {
  const std::string driver = machine.link(kPciDevices + address + "/driver");
  if (std::ranges::find(kForPrograms, driver) != kForPrograms.end()) {
    return {State::ok, fmt::format("{} is bound to {}: Penumbra can have it", address, driver), ""};
  }
  const std::string whose =
      driver.empty() ? "is bound to no driver" : fmt::format("is bound to {}: Linux has it", driver);
  if (!configured) return {State::ok, fmt::format("{} {}", address, whose), ""};
  return {
      State::problem,
      fmt::format("{} {}, and the configuration wants it{}", address, whose, default_route_warning(machine, address)),
      "modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci " + address};
}

std::vector<Finding> network_cards(const Machine& machine) {
  const auto configured = machine.pci_addresses();
  std::vector<Finding> findings;
  for (const auto& address : machine.list(kPciDevices)) {
    if (!is_network_card(machine, address)) continue;
    findings.push_back(judge(machine, address, std::ranges::find(configured, address) != configured.end()));
  }
  for (const auto& address : configured) {
    if (is_network_card(machine, address)) continue;
    findings.push_back({State::problem,
                        fmt::format("{} is no network card of this machine, and the configuration wants it", address),
                        "dpdk-devbind.py --status-dev net"});
  }
  if (findings.empty()) findings.push_back({State::ok, "no network cards on PCI", ""});
  return findings;
}

std::vector<Finding> iommu(const Machine& machine) {
  if (!machine.list("sys/kernel/iommu_groups").empty()) {
    return {{State::ok, "it is on: vfio-pci works without root", ""}};
  }
  if (machine.read("sys/module/vfio/parameters/enable_unsafe_noiommu_mode").value_or("N").starts_with('Y')) {
    return {{State::hint, "there is none; vfio-pci works without, for root, and a card can write to all memory", ""}};
  }
  if (machine.pci_addresses().empty()) {
    return {{State::ok, "there is none, or it is off; only network cards by PCI address need it", ""}};
  }
  return {
      {State::problem,
       "there is none, or it is off (kernel options intel_iommu=on iommu=pt), and vfio-pci needs it or to be told to "
       "do without",
       "printf Y >/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"}};
}

}  // namespace

std::vector<Check> card_checks() {
  return {{"network cards", network_cards}, {"IOMMU", iommu}};
}

}  // namespace penumbra::cli::doctor
