// SPDX-License-Identifier: Apache-2.0
#include "io/device_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/capability.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/proc.h"

namespace penumbra::io {
namespace {

using std::filesystem::path;

std::string first_line(const path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// Returns the capabilities that AF_XDP needs and this process lacks.
std::vector<std::string> missing_for_xdp(const path& root) {
  constexpr std::array<std::pair<const char*, unsigned>, 3> kNeeded{
      {{"CAP_NET_ADMIN", CAP_NET_ADMIN}, {"CAP_NET_RAW", CAP_NET_RAW}, {"CAP_BPF", CAP_BPF}}};
  const std::string text = proc_value(root / "proc/self/status", "CapEff");
  std::uint64_t effective = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), effective, 16).ec != std::errc{}) return {};
  const auto has = [effective](unsigned number) { return (effective >> number & 1) != 0; };
  std::vector<std::string> missing;
  for (const auto& [name, number] : kNeeded) {
    const bool covered = has(number) || (number == CAP_BPF && has(CAP_SYS_ADMIN));
    if (!covered) missing.emplace_back(name);
  }
  return missing;
}

std::string xdp_advice(const path& root) {
  const auto missing = missing_for_xdp(root);
  if (missing.empty()) return "; net_af_packet takes any interface, without XDP";
  return fmt::format(
      "; AF_XDP needs {}, which this process lacks: run as root, or setcap cap_net_admin,cap_net_raw,cap_bpf+ep "
      "PROGRAM, or take net_af_packet",
      fmt::join(missing, ", "));
}

/// Returns a PCI address with its domain, or an empty text if `devargs` has no PCI address.
std::string pci_address(const std::string& devargs) {
  std::string name = devargs.substr(0, devargs.find(','));
  if (name.starts_with("pci:")) name.erase(0, 4);
  if (std::ranges::count(name, ':') == 1) name.insert(0, "0000:");
  const bool is_address = std::ranges::count(name, ':') == 2 && std::ranges::count(name, '.') == 1 &&
                          name.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos;
  return is_address ? name : "";
}

std::vector<std::string> network_cards(const path& devices) {
  std::vector<std::string> cards;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(devices, ignored)) {
    if (first_line(entry.path() / "class").starts_with("0x02")) cards.push_back(entry.path().filename());
  }
  std::ranges::sort(cards);
  return cards;
}

std::string card_advice(const std::string& address, const path& root) {
  const path devices = root / "sys/bus/pci/devices";
  std::error_code ignored;
  if (!std::filesystem::exists(devices / address, ignored)) {
    const auto cards = network_cards(devices);
    return cards.empty() ? "; this machine has no network card on PCI"
                         : fmt::format("; the network cards of this machine are {}", fmt::join(cards, ", "));
  }
  const std::string driver = std::filesystem::read_symlink(devices / address / "driver", ignored).filename();
  if (driver == "vfio-pci") return "; it is bound to vfio-pci: does this user own its group in /dev/vfio?";
  return fmt::format("; it is {}, and has to be bound to vfio-pci: `penumbra doctor CONFIG` says how",
                     driver.empty() ? "bound to no driver" : "bound to " + driver);
}

}  // namespace

std::string device_advice(const std::string& devargs, const path& root) {
  const std::string_view name = std::string_view(devargs).substr(0, devargs.find(','));
  if (name.find("_af_xdp") != std::string_view::npos) return xdp_advice(root);
  if (name.starts_with("net_bonding") || name.starts_with("eth_bond")) {
    return "; a bond is easier made by Linux: ip link add bond0 type bond mode 802.3ad, ip link set eth1 master bond0, "
           "and as device \"net_af_packet0,iface=bond0\"";
  }
  const std::string address = pci_address(devargs);
  return address.empty() ? "" : card_advice(address, root);
}

}  // namespace penumbra::io
