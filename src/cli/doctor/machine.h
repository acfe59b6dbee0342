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

/// Folder with a subfolder for each PCI device, named by its address.
inline const std::string kPciDevices = "sys/bus/pci/devices/";

/// Features of an interface of this network namespace, from ethtool.
struct InterfaceFeatures {
  std::string driver;         ///< "veth"
  bool checksums = false;     ///< it leaves checksums of sent packets to the receiver
  bool segmentation = false;  ///< it sends TCP segments longer than the MTU (TSO)
};

/// A configured port that is a Linux interface.
struct InterfacePort {
  std::string interface;
  bool xdp = false;   ///< uses AF_XDP, otherwise AF_PACKET
  bool twin = false;  ///< has a twin in the host
};

/// The machine to check, read from /proc, /sys and /dev below a root, and the optional configuration.
class Machine {
 public:
  /// `features` returns the features of an interface, or nothing for an unknown interface. `config` may be null.
  Machine(std::filesystem::path root, const control::RouterConfig* config,
          std::function<std::optional<InterfaceFeatures>(const std::string& interface)> features);

  /// Returns the text of a file without its last newline, or nothing if the file cannot be read.
  std::optional<std::string> read(std::string_view path) const;
  /// Returns the number at the beginning of a file.
  std::optional<std::uint64_t> number(std::string_view path) const;
  bool exists(std::string_view path) const;
  /// Returns the names in a folder, in order; none if the folder does not exist.
  std::vector<std::string> list(std::string_view path) const;
  /// Returns the last component of a symbolic link's target; empty if there is no link.
  std::string link(std::string_view path) const;
  /// Returns the cores in a file like /sys/devices/system/cpu/isolated: "2-5,8".
  std::vector<unsigned> cores(std::string_view path) const;

  /// Returns true if this process has a capability (capabilities(7)), given by its number (linux/capability.h). Returns
  /// nothing if the kernel does not tell.
  std::optional<bool> has_capability(unsigned number) const;

  /// Returns the interfaces of IPv4 and IPv6 default routes and their lower interfaces (of a bridge or bond).
  std::vector<std::string> default_route_interfaces() const;

  std::optional<InterfaceFeatures> features(const std::string& interface) const { return features_(interface); }

  // The following functions describe the configuration, and return nothing without one.
  bool has_config() const { return config_ != nullptr; }
  std::vector<unsigned> worker_cores() const;
  std::vector<InterfacePort> interface_ports() const;
  std::vector<std::string> pci_addresses() const;
  std::vector<std::string> twins() const;
  /// Returns true if the devargs of a port begin with `driver`, for example "net_tap".
  bool uses_driver(std::string_view driver) const;

 private:
  std::filesystem::path root_;
  const control::RouterConfig* config_;
  std::function<std::optional<InterfaceFeatures>(const std::string&)> features_;
};

/// Returns the features that the kernel reports by ioctl.
std::optional<InterfaceFeatures> features_of(const std::string& interface);

}  // namespace penumbra::cli::doctor
