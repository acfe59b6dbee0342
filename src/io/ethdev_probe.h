// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace penumbra::io {

/// Creates the device of these devargs and returns DPDK's number of its port. Throws std::runtime_error with the
/// driver's own words and what to do.
std::uint16_t probe_ethdev(const std::string& devargs);

/// ": REASON" for what DPDK returned if it is a negative errno, but "" for -1: that is what many drivers return
/// whatever it was.
std::string reason_of(int result);

/// Closes the port and removes its device. The port is stopped.
void remove_ethdev(std::uint16_t port) noexcept;

/// The value of `key=` in devargs, or "".
std::string devarg(const std::string& devargs, const std::string& key);

}  // namespace penumbra::io
