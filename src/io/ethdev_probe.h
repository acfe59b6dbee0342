// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace penumbra::io {

/// Creates the device of these devargs and returns DPDK's number of its port. Throws std::runtime_error with the
/// driver's own words and what to do.
std::uint16_t probe_ethdev(const std::string& devargs);

/// Frames that each ring of a packet socket holds unless its devargs have `framecnt=`. A TCP sender's window arrives at
/// once by way of a veth. The driver's own 512 frames overflow then.
inline constexpr unsigned kPacketSocketFrames = 4096;

/// Whether the kernel lets this process lock as much memory as the rings of packet sockets take: it has CAP_IPC_LOCK
/// outside of user namespaces, or RLIMIT_MEMLOCK is large.
bool may_lock_memory();

/// The devargs with `framecnt=` if they are a packet socket's and have none. Without `unlimited` locked memory they
/// stay as they are, because two rings of 8 MiB would exceed Debian's limit of 8 MiB.
std::string with_default_rings(const std::string& devargs, bool unlimited);

/// ": REASON" for what DPDK returned if it is a negative errno, but "" for -1: that is what many drivers return
/// whatever it was.
std::string reason_of(int result);

/// Closes the port and removes its device. The port is stopped.
void remove_ethdev(std::uint16_t port) noexcept;

}  // namespace penumbra::io
