// SPDX-License-Identifier: Apache-2.0
#include "io/port_warnings.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "control/device_arguments.h"
#include "io/ethtool.h"
#include "io/interface_ioctl.h"
#include "penumbra/errors.h"

namespace penumbra::io {
namespace {

bool is_there(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored);
}

bool is_interface(const std::string& name) {
  return if_nametoindex(name.c_str()) != 0;
}

std::optional<unsigned> mtu_of(const std::string& interface) {
  const auto answer = ask_interface(interface, SIOCGIFMTU);
  return answer && answer->ifr_mtu > 0 ? std::optional(static_cast<unsigned>(answer->ifr_mtu)) : std::nullopt;
}

/// Returns true if the interface exists and is not a TAP device. A driver that does not identify itself counts as TAP.
bool is_other_than_tap(const std::string& interface) {
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  if (!is_interface(interface) || !ask_ethtool(interface, driver)) return false;
  return std::string_view(driver.driver) != "tun" || std::string_view(driver.bus_info) != "tap";
}

class Warnings {
 public:
  explicit Warnings(const control::PortConfig& port) : port_(port) {}

  void look_at_device() {
    const auto* ethdev = std::get_if<control::Ethdev>(&port_.device);
    if (ethdev == nullptr) return;
    if (ethdev->is_pci) return look_at_pci(control::device_name(ethdev->devargs));
    if (!control::needs_interface(ethdev->devargs)) return;
    const std::string interface = control::device_interface(ethdev->devargs);
    if (!is_interface(interface)) {
      return add(
          port_.device_location,
          fmt::format("there is no interface '{}' here, and without it the router does not start (`ip link` lists "
                      "those that are)",
                      interface));
    }
    const auto mtu = mtu_of(interface);
    if (port_.mtu_location.line == 0 || !mtu || *mtu >= port_.info.mtu) return;
    add(port_.mtu_location,
        fmt::format(
            "an MTU of {} is above the interface's, so {} holds; set the interface's (ip link set dev {} mtu {}), "
            "or write 'mtu: {}'",
            port_.info.mtu, *mtu, interface, port_.info.mtu, *mtu));
  }

  void look_at_twin() {
    if (port_.twin.empty() || !is_other_than_tap(port_.twin)) return;
    add(port_.twin_location,
        fmt::format("there is an interface '{}' here that is no TAP, so the twin cannot be called so; give it another "
                    "name ('twin: NAME')",
                    port_.twin));
  }

  std::vector<std::string> take() { return std::move(warnings_); }

 private:
  void look_at_pci(const std::string& address) {
    if (address.find('/') != std::string::npos || is_there(std::filesystem::path("/sys/bus/pci/devices") / address))
      return;
    add(port_.device_location,
        fmt::format("there is no PCI device {} here, and without it the router does not start (`lspci -D` lists those "
                    "that are)",
                    address));
  }

  void add(const SourceLocation& place, const std::string& what) {
    warnings_.emplace_back(InputError(place, fmt::format("port '{}': {}", port_.info.name, what)).what());
  }

  const control::PortConfig& port_;
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<std::string> port_warnings(std::span<const control::PortConfig> configs) {
  std::vector<std::string> all;
  for (const control::PortConfig& config : configs) {
    Warnings of_port(config);
    of_port.look_at_device();
    of_port.look_at_twin();
    for (std::string& warning : of_port.take()) all.push_back(std::move(warning));
  }
  return all;
}

}  // namespace penumbra::io
