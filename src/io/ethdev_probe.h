// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace penumbra::io {

/// Creates the device of `devargs` and returns DPDK's number of its port. Throws std::runtime_error with the driver's
/// message and advice.
std::uint16_t probe_ethdev(const std::string& devargs);

/// Frames in each ring of a packet socket unless the devargs have `framecnt=`. Over a veth, a TCP sender's whole window
/// arrives in one burst. The driver's own 512 frames overflow then.
inline constexpr unsigned kPacketSocketFrames = 4096;

/// Returns true if this process may lock as much memory as the rings of packet sockets need. The process then has
/// CAP_IPC_LOCK outside of user namespaces, or a large RLIMIT_MEMLOCK.
bool may_lock_memory();

/// Returns the devargs with `framecnt=` if they are a packet socket's and have none. Without `unlimited` locked memory
/// they stay unchanged, because two rings of 8 MiB would exceed Debian's limit of 8 MiB.
std::string with_default_rings(const std::string& devargs, bool unlimited);

/// Returns ": REASON" for a negative errno of DPDK, but "" for -1, which many drivers return for any error.
std::string reason_of(int result);

/// Closes a stopped port and removes its device.
void remove_ethdev(std::uint16_t port) noexcept;

}  // namespace penumbra::io
