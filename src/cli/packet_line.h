// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace penumbra::cli {

/// Returns a line about an Ethernet frame in the format of tcpdump: "IP 10.0.0.1.1024 > 192.0.2.9.80: TCP [S], length
/// 40". Accepts any bytes. `wire_bytes` is the length of the frame, and `frame` may be a part of the frame.
std::string packet_line(std::span<const std::uint8_t> frame, std::size_t wire_bytes);

/// Returns a line for each record of a capture: local time with microseconds, and packet_line(). `records` contains
/// whole io::CaptureRecords with their data.
std::string packet_lines(std::span<const std::uint8_t> records);

}  // namespace penumbra::cli
