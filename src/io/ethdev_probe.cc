// SPDX-License-Identifier: Apache-2.0
#include "io/ethdev_probe.h"

#include <fmt/format.h>
#include <net/if.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "control/device_arguments.h"
#include "io/device_advice.h"
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

/// Returns true if `iface=` names an existing interface. net_tap and virtio_user create the interface; for net_vhost
/// `iface=` is a socket.
bool names_interface(const std::string& devargs) {
  const std::string name = devargs.substr(0, devargs.find(','));
  return control::needs_interface(devargs) || name.find("_pcap") != std::string::npos ||
         name.starts_with("net_vdev_netvsc");
}

/// Returns an error if the devargs name an interface that does not exist, else "".
std::string missing_interface(const std::string& devargs) {
  if (!names_interface(devargs)) return "";
  const std::string name = control::devarg(devargs, "iface");
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

std::string advice(const std::string& devargs) {
  if (devargs.starts_with("net_null") || devargs.starts_with("net_ring") || devargs.starts_with("net_memif")) return "";
  if (devargs.find("_af_xdp") < devargs.find(',')) return "";
  if (!may_open_packet_sockets() && devargs.find("_pcap=") == std::string::npos) {
    return "; this user may not open packet sockets: run as root, or give the program the capabilities CAP_NET_RAW and "
           "CAP_NET_ADMIN (setcap cap_net_raw,cap_net_admin+ep PROGRAM)";
  }
  return "";
}

/// Returns the filter that finds the device's port: the name and, for devices with several ports, the representor. The
/// iterator would treat all other arguments as filters, such as the `mac=` of net_tap.
std::string filter_of(const std::string& devargs) {
  const std::string representor = control::devarg(devargs, "representor");
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
  const int result = rte_dev_probe(with_default_rings(devargs, may_lock_memory()).c_str());
  if (result < 0) {
    throw std::runtime_error(fmt::format("DPDK cannot open '{}'{}{}{}", devargs, reason_of(result), log.remark(),
                                         advice(devargs) + device_advice(devargs)));
  }
  const std::optional<std::uint16_t> port = find_port(devargs);
  if (!port) {
    throw std::runtime_error(
        fmt::format("no driver of this program takes the device '{}'{}", devargs, device_advice(devargs)));
  }
  return *port;
}

bool may_lock_memory() {
  constexpr std::size_t kPlenty = std::size_t{1} << 30;
  // Only the kernel knows: a capability in a user namespace does not count. Pages without access are never populated.
  void* const memory =
      mmap(nullptr, kPlenty, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_LOCKED, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, kPlenty);
  return true;
}

std::string with_default_rings(const std::string& devargs, bool unlimited) {
  const bool packet_socket = devargs.find("_af_packet") < devargs.find(',');
  if (!packet_socket || !unlimited || !control::devarg(devargs, "framecnt").empty()) return devargs;
  return devargs + ",framecnt=" + std::to_string(kPacketSocketFrames);
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

}  // namespace penumbra::io
