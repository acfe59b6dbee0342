// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/config.h"

namespace penumbra::cli::doctor {

/// Where a folder stands for each PCI device, by its address.
inline const std::string kPciDevices = "sys/bus/pci/devices/";

/// What ethtool says of an interface of this network namespace.
struct InterfaceFeatures {
  std::string driver;         ///< "veth"
  bool checksums = false;     ///< it leaves checksums of what it sends to be completed by whoever receives it
  bool segmentation = false;  ///< it sends TCP segments longer than the MTU (TSO)
};

/// A port of the configuration that is an interface of Linux.
struct InterfacePort {
  std::string interface;
  bool xdp = false;   ///< by AF_XDP, else by AF_PACKET
  bool twin = false;  ///< a twin stands for it in the host
};

/// The machine that is looked at, by way of /proc, /sys and /dev below a root, and the configuration if there is one.
class Machine {
 public:
  /// `features` tells of an interface of the machine; nothing if it does not know it. `config` may be null.
  Machine(std::filesystem::path root, const control::RouterConfig* config,
          std::function<std::optional<InterfaceFeatures>(const std::string& interface)> features);

  /// A file's text without its last newline; nothing if it cannot be read.
  std::optional<std::string> read(std::string_view path) const;
  /// The number that a file begins with.
  std::optional<std::uint64_t> number(std::string_view path) const;
  bool exists(std::string_view path) const;
  /// The names in a folder, in order; none if there is no such folder.
  std::vector<std::string> list(std::string_view path) const;
  /// The last part of what a symbolic link points to; empty if there is none.
  std::string link(std::string_view path) const;
  /// The cores of a file like /sys/devices/system/cpu/isolated: "2-5,8".
  std::vector<unsigned> cores(std::string_view path) const;

  /// Whether this process has a capability (capabilities(7)), by its number (linux/capability.h); nothing if the kernel
  /// does not say.
  std::optional<bool> has_capability(unsigned number) const;

  /// The interfaces that a default route leads over, IPv4 or IPv6, and those below them (a bridge's or a bond's).
  std::vector<std::string> default_route_interfaces() const;

  std::optional<InterfaceFeatures> features(const std::string& interface) const { return features_(interface); }

  // Of the configuration; of none, nothing:
  bool has_config() const { return config_ != nullptr; }
  std::vector<unsigned> worker_cores() const;
  std::vector<InterfacePort> interface_ports() const;
  std::vector<std::string> pci_addresses() const;
  std::vector<std::string> twins() const;
  /// Whether a port's devargs begin so: "net_tap".
  bool uses_driver(std::string_view driver) const;

 private:
  std::filesystem::path root_;
  const control::RouterConfig* config_;
  std::function<std::optional<InterfaceFeatures>(const std::string&)> features_;
};

/// What the kernel says, by ioctl.
std::optional<InterfaceFeatures> features_of(const std::string& interface);

}  // namespace penumbra::cli::doctor
