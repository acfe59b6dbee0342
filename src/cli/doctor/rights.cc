// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <linux/capability.h>

#include <array>
#include <sstream>

#include "cli/doctor/check.h"

namespace penumbra::cli::doctor {
namespace {

/// A capability (capabilities(7)) and the part of a configuration that needs it.
struct Capability {
  const char* name;
  unsigned number;
  const char* use;
  bool (*needed)(const Machine&);
};

bool makes_interfaces(const Machine& machine) {
  return !machine.twins().empty() || machine.uses_driver("net_tap");
}
bool uses_xdp(const Machine& machine) {
  return machine.uses_driver("net_af_xdp");
}

constexpr std::array<Capability, 3> kCapabilities{
    Capability{"CAP_NET_ADMIN", CAP_NET_ADMIN, "twins, TAP ports and AF_XDP",
               [](const Machine& machine) { return makes_interfaces(machine) || uses_xdp(machine); }},
    Capability{"CAP_NET_RAW", CAP_NET_RAW, "ports by AF_PACKET and AF_XDP",
               [](const Machine& machine) { return !machine.interface_ports().empty(); }},
    Capability{"CAP_BPF", CAP_BPF, "ports by AF_XDP", uses_xdp}};

std::vector<Finding> capabilities(const Machine& machine) {
  std::vector<Finding> findings;
  for (const auto& capability : kCapabilities) {
    const auto there = machine.has_capability(capability.number);
    if (!there) return {{State::hint, "the kernel does not say which capabilities this process has", ""}};
    if (*there) {
      findings.push_back({State::ok, fmt::format("{} is there, for {}", capability.name, capability.use), ""});
      continue;
    }
    const bool needed = capability.needed(machine);
    const bool matters = needed || !machine.has_config();
    findings.push_back({needed    ? State::problem
                        : matters ? State::hint
                                  : State::ok,
                        fmt::format("{} is missing, which {} need", capability.name, capability.use),
                        matters ? "setcap cap_net_admin,cap_net_raw,cap_bpf+ep \"$(command -v penumbra)\"" : ""});
  }
  return findings;
}

std::vector<Finding> tun(const Machine& machine) {
  if (machine.exists("dev/net/tun")) return {{State::ok, "/dev/net/tun is there, for twins and TAP ports", ""}};
  return {{makes_interfaces(machine) ? State::problem : State::hint,
           "/dev/net/tun is missing, which twins and TAP ports need", "modprobe tun"}};
}

std::vector<Finding> af_xdp(const Machine& machine) {
  std::istringstream protocols(machine.read("proc/net/protocols").value_or(""));
  for (std::string line; std::getline(protocols, line);) {
    if (line.starts_with("XDP ")) return {{State::ok, "the kernel has AF_XDP sockets", ""}};
  }
  // No command helps, because AF_XDP is an option of the kernel's build.
  if (uses_xdp(machine)) return {{State::problem, "the kernel has no AF_XDP sockets; take net_af_packet", ""}};
  return {{State::ok, "the kernel has no AF_XDP sockets; ports by AF_PACKET do without", ""}};
}

}  // namespace

std::vector<Check> rights_checks() {
  return {{"capabilities", capabilities}, {"TUN/TAP", tun}, {"AF_XDP", af_xdp}};
}

}  // namespace penumbra::cli::doctor
