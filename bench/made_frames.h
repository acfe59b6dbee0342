// SPDX-License-Identifier: Apache-2.0
//
// Makes frames for benchmarks, and captures of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

namespace penumbra::bench {

inline constexpr std::uint16_t kFcsBytes = 4;  ///< Ends each frame on the wire.

using FrameBytes = std::vector<std::uint8_t>;

/// MAC addresses of the router's port and of a host in made frames.
inline constexpr std::uint64_t kRouterMac = 0x020000000001, kHostMac = 0x02AA00000001;

/// Appends the lower `bytes` bytes of `value` in network byte order.
void put(FrameBytes& frame, std::uint64_t value, int bytes);

/// Returns an Ethernet header.
FrameBytes ethernet_header(std::uint64_t destination, std::uint64_t source, std::uint16_t ethertype);

/// Returns a frame with Ethernet, IPv4 and UDP headers, with room for data up to `frame_bytes`. The checksum
/// of UDP is 0: not used.
FrameBytes udp_frame(std::uint16_t frame_bytes, std::uint32_t source, std::uint32_t destination,
                     std::uint16_t source_port, std::uint16_t destination_port);

/// Writes a capture of `count` frames, of which `frame` returns each. Throws std::runtime_error.
void write_capture(const std::filesystem::path& file, std::size_t count,
                   const std::function<FrameBytes(std::size_t)>& frame);

}  // namespace penumbra::bench
