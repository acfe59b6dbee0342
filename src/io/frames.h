// SPDX-License-Identifier: Apache-2.0
//
// Keeps frames in memory for replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace penumbra::io {

/// Location and time of one frame.
struct FrameEntry {
  std::uint64_t offset = 0;       ///< Offset of the first byte in Frames::bytes.
  std::uint64_t nanoseconds = 0;  ///< Capture time, in nanoseconds since 1970-01-01.
  std::uint32_t size = 0;         ///< Bytes present in the capture; fewer than the frame had if it was truncated.
};

/// Frames in capture order.
struct Frames {
  static constexpr std::uint32_t kLargest = 65535;  ///< The maximum size of one mbuf.

  std::vector<std::uint8_t> bytes;
  std::vector<FrameEntry> entries;

  void add(std::uint64_t nanoseconds, std::span<const std::uint8_t> frame);
  std::uint32_t largest() const;
};

/// Reads a capture (pcap or pcapng, any byte order, micro- or nanoseconds) into memory. Throws InputError with the file
/// and, if useful, the packet's number. Causes: read errors, other link types than Ethernet, frames over
/// Frames::kLargest, files larger than the free memory.
Frames load_capture(const std::filesystem::path& file);

/// Distributes the frames over `queues` queues by flow, so that each flow stays in order in one queue.
std::vector<std::vector<FrameEntry>> partition(const Frames& frames, std::uint16_t queues);

}  // namespace penumbra::io
