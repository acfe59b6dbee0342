// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <linux/capability.h>

#include <algorithm>

#include "cli/doctor/check.h"

namespace penumbra::cli::doctor {
namespace {

const std::string kInterfaces = "sys/class/net/";
const std::string kSettings = "proc/sys/net/ipv4/";
const std::string kSettings6 = "proc/sys/net/ipv6/";

/// Returns the other end of a veth interface; empty if it is in another namespace.
std::string peer_of(const Machine& machine, const std::string& interface) {
  const auto peer = machine.number(kInterfaces + interface + "/iflink");
  if (!peer || peer == machine.number(kInterfaces + interface + "/ifindex")) return "";
  for (const auto& other : machine.list(kInterfaces)) {
    if (other != interface && machine.number(kInterfaces + other + "/ifindex") == peer &&
        machine.number(kInterfaces + other + "/iflink") == machine.number(kInterfaces + interface + "/ifindex")) {
      return other;
    }
  }
  return "";
}

/// A router with AF_XDP or a twin takes over the traffic that its interface receives.
std::vector<Finding> default_route(const Machine& machine) {
  const auto used = machine.default_route_interfaces();
  std::vector<Finding> findings;
  for (const auto& port : machine.interface_ports()) {
    if ((!port.xdp && !port.twin) || std::ranges::find(used, port.interface) == used.end()) continue;
    findings.push_back({State::hint,
                        fmt::format("WARNING: the default route of this machine leads over {}: while the router runs, "
                                    "whoever is logged in by way of it is cut off",
                                    port.interface),
                        ""});
  }
  return findings;
}

std::vector<Finding> interfaces(const Machine& machine) {
  std::vector<Finding> findings;
  for (const auto& port : machine.interface_ports()) {
    const std::string& name = port.interface;
    if (!machine.exists(kInterfaces + name)) {
      findings.push_back({State::problem, fmt::format("there is no interface {}", name), "ip -brief link"});
      continue;
    }
    // The kernel refuses to read the file while the interface is down.
    const auto carrier = machine.number(kInterfaces + name + "/carrier");
    if (!carrier) {
      findings.push_back({State::hint, fmt::format("{} is down", name), "ip link set " + name + " up"});
    } else if (*carrier == 0) {
      findings.push_back(
          {State::hint, fmt::format("{} is up without a carrier: check its cable or its peer", name), ""});
    } else {
      findings.push_back({State::ok, fmt::format("{} is up", name), ""});
    }
  }
  return findings;
}

/// The other end of a veth may leave checksums and segmentation to the receiver. The router completes checksums
/// (io/checksum_completion.h). If it may use BPF, it makes the other end segment packets (io/veth_peer.h).
std::vector<Finding> partial_checksums(const Machine& machine) {
  std::vector<Finding> findings;
  for (const auto& port : machine.interface_ports()) {
    const auto features = machine.features(port.interface);
    if (!features || features->driver != "veth") continue;
    const std::string peer = peer_of(machine, port.interface);
    const auto at_peer = peer.empty() ? std::nullopt : machine.features(peer);
    if (at_peer && !at_peer->checksums && !at_peer->segmentation) {
      findings.push_back(
          {State::ok, fmt::format("{}, the other end of {}, offloads nothing", peer, port.interface), ""});
      continue;
    }
    const std::string whose = peer.empty() ? "in another namespace, may leave" : peer + ", leaves";
    const bool may_end =
        machine.has_capability(CAP_NET_ADMIN).value_or(false) && machine.has_capability(CAP_BPF).value_or(false);
    findings.push_back(
        {may_end ? State::ok : State::hint,
         fmt::format("the other end of {}, {} checksums to us, which Penumbra completes, and segmentation, {}",
                     port.interface, whose,
                     may_end ? "which it ends while it runs; its offloads off spare that"
                             : "which it can end with CAP_NET_ADMIN and CAP_BPF only: without, frames "
                               "longer than the MTU are dropped and TCP is slow"),
         fmt::format("ethtool -K {} tx off tso off gso off", peer.empty() ? "PEER" : peer)});
  }
  return findings;
}

/// With a twin, the host forwards packets that the fast path punts. Without a twin, the host must not forward.
std::vector<Finding> forwarding(const Machine& machine) {
  if (!machine.twins().empty()) {
    std::string command;
    if (machine.number(kSettings + "ip_forward").value_or(0) == 0) command += " net.ipv4.ip_forward=1";
    // The file is missing if the host has no IPv6.
    const auto forwards6 = machine.number(kSettings6 + "conf/all/forwarding");
    if (forwards6.value_or(1) == 0) command += " net.ipv6.conf.all.forwarding=1";
    if (command.empty()) return {{State::ok, "the host forwards what the fast path punts", ""}};
    return {
        {State::hint, "the host does not forward, so what is punted to be forwarded is lost", "sysctl -w" + command}};
  }
  std::vector<Finding> findings;
  for (const auto& port : machine.interface_ports()) {
    const std::string& name = port.interface;
    const bool forwards = machine.number(fmt::format("{}conf/{}/forwarding", kSettings, name)).value_or(0) != 0;
    if (port.xdp || !forwards) continue;  // AF_XDP takes packets away from Linux
    findings.push_back(
        {State::hint,
         fmt::format("Linux forwards what comes in on {} too, if it has a route: packets may leave twice", name),
         fmt::format("sysctl -w net.ipv4.conf.{}.forwarding=0", name)});
  }
  return findings;
}

std::vector<Finding> reverse_path(const Machine& machine) {
  // The larger value of `all` and of the interface applies (ip-sysctl).
  constexpr std::uint64_t kStrict = 1;
  std::vector<Finding> findings;
  const std::uint64_t all = machine.number(kSettings + "conf/all/rp_filter").value_or(0);
  for (const auto& name : machine.twins()) {
    const auto own = machine.number(fmt::format("{}conf/{}/rp_filter", kSettings, name));
    const std::uint64_t value =
        std::max(all, own.value_or(machine.number(kSettings + "conf/default/rp_filter").value_or(0)));
    if (value != kStrict) {
      findings.push_back({State::ok, fmt::format("twin {}: not strict", name), ""});
      continue;
    }
    findings.push_back({State::hint,
                        fmt::format("twin {}: the host drops punted packets whose way back leads elsewhere", name),
                        "sysctl -w net.ipv4.conf.all.rp_filter=2"});
  }
  return findings;
}

}  // namespace

std::vector<Check> interface_checks() {
  return {{"interfaces", interfaces},
          {"default route", default_route},
          {"partial checksums", partial_checksums},
          {"forwarding by Linux", forwarding},
          {"reverse path filter", reverse_path}};
}

}  // namespace penumbra::cli::doctor
