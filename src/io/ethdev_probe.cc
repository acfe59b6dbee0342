// SPDX-License-Identifier: Apache-2.0
#include "io/ethdev_probe.h"

#include <fmt/format.h>
#include <net/if.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "io/log_capture.h"
#include "io/memif_gate.h"
#include "penumbra/errors.h"

namespace penumbra::io {
namespace {

std::vector<std::string> interface_names() {
  std::vector<std::string> names;
  const std::unique_ptr<struct if_nameindex, decltype(&if_freenameindex)> list(if_nameindex(), &if_freenameindex);
  for (const struct if_nameindex* entry = list.get(); entry != nullptr && entry->if_name != nullptr; ++entry) {
    names.emplace_back(entry->if_name);
  }
  return names;
}

/// Whether the device is a socket on an interface of the host, which it cannot be without.
bool needs_interface(const std::string& devargs) {
  const std::string name = devargs.substr(0, devargs.find(','));
  return name.find("_af_packet") != std::string::npos || name.find("_af_xdp") != std::string::npos;
}

/// Whether `iface=` names an interface that is there. net_tap's and virtio_user's is one to create, net_vhost's a
/// socket.
bool names_interface(const std::string& devargs) {
  const std::string name = devargs.substr(0, devargs.find(','));
  return needs_interface(devargs) || name.find("_pcap") != std::string::npos || name.starts_with("net_vdev_netvsc");
}

/// An interface of the host that the devargs name or must name and that does not exist, in words; else "".
std::string missing_interface(const std::string& devargs) {
  if (!names_interface(devargs)) return "";
  const std::string name = devarg(devargs, "iface");
  if (name.empty() && needs_interface(devargs)) {
    return fmt::format("'{}' does not say on which interface: add iface=NAME, with one of {}", devargs,
                       fmt::join(interface_names(), ", "));
  }
  if (name.empty() || if_nametoindex(name.c_str()) != 0) return "";
  const std::vector<std::string> names = interface_names();
  const std::string hint = did_you_mean(name, names);
  return fmt::format("there is no interface '{}' here; {}", name,
                     hint.empty() ? fmt::format("those that are: {}", fmt::join(names, ", ")) : hint);
}

bool may_open_packet_sockets() {
  const int descriptor = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  ::close(descriptor);
  return true;
}

/// The arguments of the drivers of DPDK 22.11 that refuse one that they do not know without a word.
struct KnownArguments {
  std::string_view driver;  ///< without "net_" or its older name's "eth_"
  std::span<const std::string_view> names;
};
constexpr std::array<std::string_view, 3> kNullArguments{"size", "copy", "no-rx"};
constexpr std::array<std::string_view, 6> kPacketSocketArguments{"iface",   "qpairs",   "blocksz",
                                                                 "framesz", "framecnt", "qdisc_bypass"};
constexpr std::array<std::string_view, 8> kPcapArguments{"rx_pcap",  "tx_pcap", "rx_iface", "rx_iface_in",
                                                         "tx_iface", "iface",   "phy_mac",  "infinite_rx"};
constexpr std::array<KnownArguments, 3> kKnownArguments{
    {{"null", kNullArguments}, {"af_packet", kPacketSocketArguments}, {"pcap", kPcapArguments}}};

/// The first argument that the driver does not know, in words; "" if there is none, or if the driver speaks for itself.
std::string unknown_argument(const std::string& devargs) {
  const std::string driver = devargs.substr(std::min(std::string_view("net_").size(), devargs.size()));
  const auto* known =
      std::ranges::find_if(kKnownArguments, [&](const KnownArguments& of) { return driver.starts_with(of.driver); });
  if (known == kKnownArguments.end()) return "";
  for (std::size_t comma = devargs.find(','); comma != std::string::npos; comma = devargs.find(',', comma + 1)) {
    const std::string name = devargs.substr(comma + 1, devargs.find_first_of(",=", comma + 1) - comma - 1);
    if (std::ranges::find(known->names, name) != known->names.end()) continue;
    return fmt::format("; its driver knows no argument '{}'; {}", name, did_you_mean_or_list(name, known->names));
  }
  return "";
}

std::string advice(const std::string& devargs) {
  if (const std::string unknown = unknown_argument(devargs); !unknown.empty()) return unknown;
  if (devargs.starts_with("net_null") || devargs.starts_with("net_ring") || devargs.starts_with("net_memif")) return "";
  if (!may_open_packet_sockets() && devargs.find("_pcap=") == std::string::npos) {
    return "; this user may not open packet sockets: run as root, or give the program the capabilities CAP_NET_RAW and "
           "CAP_NET_ADMIN (setcap cap_net_raw,cap_net_admin+ep PROGRAM)";
  }
  return "";
}

/// What finds the device's port: its name, and of devices with several ports which one. Of all other arguments the
/// iterator would make filters of its own: it would look for the address that net_tap's `mac=` gives, say.
std::string filter_of(const std::string& devargs) {
  const std::string representor = devarg(devargs, "representor");
  return devargs.substr(0, devargs.find(',')) + (representor.empty() ? "" : ",representor=" + representor);
}

std::optional<std::uint16_t> find_port(const std::string& devargs) {
  const std::string filter = filter_of(devargs);
  rte_dev_iterator iterator{};
  std::uint16_t port = RTE_MAX_ETHPORTS;
  std::optional<std::uint16_t> found;
  RTE_ETH_FOREACH_MATCHING_DEV(port, filter.c_str(), &iterator) {
    found = port;
    rte_eth_iterator_cleanup(&iterator);
    break;
  }
  return found;
}

}  // namespace

std::uint16_t probe_ethdev(const std::string& devargs) {
  if (const std::string missing = missing_interface(devargs); !missing.empty()) throw std::runtime_error(missing);
  const LogCapture log;
  if (find_port(devargs)) throw std::runtime_error("another port has the same device; a device serves one port");
  const int result = rte_dev_probe(devargs.c_str());
  if (result < 0) {
    throw std::runtime_error(
        fmt::format("DPDK cannot open '{}'{}{}{}", devargs, reason_of(result), log.remark(), advice(devargs)));
  }
  const std::optional<std::uint16_t> port = find_port(devargs);
  if (!port) {
    throw std::runtime_error(fmt::format("no driver of this program takes the device '{}'{}", devargs,
                                         devargs.find('.') == std::string::npos
                                             ? ""
                                             : "; a PCI device must exist and be bound to vfio-pci (dpdk-devbind.py)"));
  }
  return *port;
}

std::string reason_of(int result) {
  return result == -1 ? "" : fmt::format(": {}", rte_strerror(-result));
}

void remove_ethdev(std::uint16_t port) noexcept {
  rte_eth_dev_info info{};
  const bool known = rte_eth_dev_info_get(port, &info) == 0;
  MemifGate::change(known ? info.driver_name : "", [port] { return rte_eth_dev_close(port); });
  if (known) rte_dev_remove(info.device);
}

std::string devarg(const std::string& devargs, const std::string& key) {
  const std::string pattern = "," + key + "=";
  const std::size_t found = devargs.find(pattern);
  if (found == std::string::npos) return "";
  const std::size_t begin = found + pattern.size();
  return devargs.substr(begin, devargs.find(',', begin) - begin);
}

}  // namespace penumbra::io
