// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace penumbra::cli {

/// One line on an Ethernet frame, as tcpdump prints it without options: "IP 10.0.0.1.1024 > 192.0.2.9.80: TCP [S],
/// length 40". Any bytes will do. `wire_bytes` is the frame's length, of which `frame` may be a part:
/// "[cut at N]" marks a header that is not in it.
std::string packet_line(std::span<const std::uint8_t> frame, std::size_t wire_bytes);

/// A line for each record of a capture (io::CaptureRecord with its data, whole records only): the local time with
/// microseconds, and packet_line().
std::string packet_lines(std::span<const std::uint8_t> records);

}  // namespace penumbra::cli
