// SPDX-License-Identifier: Apache-2.0
//
// Parses the devargs of DPDK's virtual devices: `DRIVER[,KEY=VALUE]...`.
#pragma once

#include <string>
#include <string_view>

namespace penumbra::control {

/// Returns the value of an argument, or "" if the devargs do not have it.
std::string devarg(const std::string& devargs, const std::string& key);

/// Returns the device's name, which two ports cannot share. The name is the part before the arguments. A PCI address
/// gets its domain.
std::string device_name(const std::string& devargs);

/// Returns true if the device is a socket on an interface of the host and needs `iface=`.
bool needs_interface(const std::string& devargs);

/// Returns the host interface that the device uses or creates, or "" for none. If two ports name the same interface, at
/// least one of them does not work.
std::string device_interface(const std::string& devargs);

/// Checks the devargs without looking at the machine: unknown, duplicate or missing arguments. Drivers of DPDK 22.11
/// ignore some such faults and report none by name. Returns the fault in words, or "" if there is none.
std::string fault_of_arguments(const std::string& devargs);

}  // namespace penumbra::control
