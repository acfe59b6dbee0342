// SPDX-License-Identifier: Apache-2.0
//
// The devargs of DPDK's virtual devices: `DRIVER[,KEY=VALUE]...`.
#pragma once

#include <string>
#include <string_view>

namespace penumbra::control {

/// The value of an argument; "" if the devargs do not have it.
std::string devarg(const std::string& devargs, const std::string& key);

/// The device's name, which two ports cannot share: the part before the arguments, of a PCI address with its domain.
std::string device_name(const std::string& devargs);

/// Whether the device is a socket on an interface of the host, which it cannot be without.
bool needs_interface(const std::string& devargs);

/// The interface of the host that the device uses or creates; "" for none. Of two ports that name the same one at least
/// one does not work.
std::string device_interface(const std::string& devargs);

/// What is wrong with the devargs whatever the machine has: an argument that the driver does not know or that stands
/// there twice, or one that is missing. Drivers of DPDK 22.11 pass over some such faults, and name none. "" if nothing
/// is.
std::string fault_of_arguments(const std::string& devargs);

}  // namespace penumbra::control
