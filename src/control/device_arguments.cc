// SPDX-License-Identifier: Apache-2.0
#include "control/device_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "penumbra/errors.h"

namespace penumbra::control {
namespace {

/// Lists the arguments that a driver of DPDK 22.11 accepts.
struct KnownArguments {
  std::string_view
      /// Without "net_" or its older form "eth_". If one driver is a prefix of another, the longer one comes first.
      driver;
  std::span<const std::string_view> names;
};
constexpr std::array<std::string_view, 3> kNull{"size", "copy", "no-rx"};
constexpr std::array<std::string_view, 6> kPacketSocket{"iface",   "qpairs",   "blocksz",
                                                        "framesz", "framecnt", "qdisc_bypass"};
constexpr std::array<std::string_view, 7> kXdpSocket{"iface",    "start_queue", "queue_count", "shared_umem",
                                                     "xdp_prog", "busy_budget", "force_copy"};
constexpr std::array<std::string_view, 8> kPcap{"rx_pcap",  "tx_pcap", "rx_iface", "rx_iface_in",
                                                "tx_iface", "iface",   "phy_mac",  "infinite_rx"};
constexpr std::array<std::string_view, 3> kTap{"iface", "mac", "remote"};
constexpr std::array<std::string_view, 1> kTun{"iface"};
constexpr std::array<std::string_view, 11> kMemif{"id",       "role",      "bsize",  "rsize",           "socket",
                                                  "mac",      "zero-copy", "secret", "socket-abstract", "owner-uid",
                                                  "owner-gid"};
constexpr std::array<std::string_view, 9> kVhost{
    "iface",         "queues",     "client",           "iommu-support",  "tso",
    "linear-buffer", "ext-buffer", "postcopy-support", "legacy-ol-flags"};
constexpr std::array<std::string_view, 12> kVirtioUser{"path",     "mac",       "cq",     "queue_size",
                                                       "queues",   "iface",     "server", "mrg_rxbuf",
                                                       "in_order", "packed_vq", "speed",  "vectorized"};
constexpr std::array<KnownArguments, 9> kKnown{{{"null", kNull},
                                                {"af_packet", kPacketSocket},
                                                {"af_xdp", kXdpSocket},
                                                {"pcap", kPcap},
                                                {"tap", kTap},
                                                {"tun", kTun},
                                                {"memif", kMemif},
                                                {"vhost", kVhost},
                                                {"virtio_user", kVirtioUser}}};

struct Argument {
  std::string name, value;
};

std::vector<Argument> arguments_of(const std::string& devargs) {
  std::vector<Argument> arguments;
  for (std::size_t comma = devargs.find(','); comma != std::string::npos;) {
    const std::size_t begin = comma + 1;
    comma = devargs.find(',', begin);
    const std::string text = devargs.substr(begin, comma == std::string::npos ? comma : comma - begin);
    const std::size_t equals = std::min(text.find('='), text.size());
    arguments.push_back({text.substr(0, equals), text.substr(std::min(equals + 1, text.size()))});
  }
  return arguments;
}

std::string_view driver_of(const std::string& devargs) {
  std::string_view driver = std::string_view(devargs).substr(0, devargs.find(','));
  for (const std::string_view prefix : {"net_", "eth_"}) {
    if (driver.starts_with(prefix)) driver.remove_prefix(prefix.size());
  }
  return driver;
}

bool is_packet_socket(const std::string& devargs) {
  return driver_of(devargs).starts_with("af_packet");
}

}  // namespace

std::string devarg(const std::string& devargs, const std::string& key) {
  for (const Argument& argument : arguments_of(devargs)) {
    if (argument.name == key) return argument.value;
  }
  return "";
}

std::string device_name(const std::string& devargs) {
  std::string name = devargs.substr(0, devargs.find(','));
  if (name.starts_with("pci:")) name.erase(0, 4);
  const bool is_short_pci = std::ranges::count(name, ':') == 1 && name.find('.') != std::string::npos;
  return is_short_pci ? "0000:" + name : name;
}

bool needs_interface(const std::string& devargs) {
  return is_packet_socket(devargs) || driver_of(devargs).starts_with("af_xdp");
}

std::string device_interface(const std::string& devargs) {
  const std::string_view driver = driver_of(devargs);
  const bool names_one = needs_interface(devargs) || driver.starts_with("tap") || driver.starts_with("tun") ||
                         driver.starts_with("pcap") || driver.starts_with("virtio_user");
  return names_one ? devarg(devargs, "iface") : "";
}

std::string fault_of_arguments(const std::string& devargs) {
  if (needs_interface(devargs) && devarg(devargs, "iface").empty()) {
    return fmt::format("'{}' does not say on which interface: add iface=NAME (`ip link` lists them)", devargs);
  }
  // The driver of DPDK 22.11 joins its sockets by PACKET_FANOUT with the flag ROLLOVER, which no devarg changes. If a
  // flow's socket is full, its packets go to another socket, which reorders the flow.
  const std::string pairs = devarg(devargs, "qpairs");
  if (is_packet_socket(devargs) && !pairs.empty() && pairs != "1") {
    return fmt::format(
        "qpairs={}: the kernel would reorder flows among several sockets; leave qpairs out, Penumbra spreads flows "
        "over "
        "its queues itself",
        pairs);
  }
  const auto* known =
      std::ranges::find_if(kKnown, [&](const KnownArguments& of) { return driver_of(devargs).starts_with(of.driver); });
  if (known == kKnown.end()) return "";
  const std::vector<Argument> arguments = arguments_of(devargs);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i].name;
    if (std::ranges::find(known->names, name) == known->names.end()) {
      return fmt::format("its driver knows no argument '{}'; {}", name, did_you_mean_or_list(name, known->names));
    }
    const std::span earlier(arguments.data(), i);
    if (std::ranges::find(earlier, name, &Argument::name) != earlier.end() && !driver_of(devargs).starts_with("pcap")) {
      return fmt::format("the argument '{}' is given twice", name);
    }
  }
  return "";
}

}  // namespace penumbra::control
