// SPDX-License-Identifier: Apache-2.0
//
// Frames kept in memory, to be replayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace penumbra::io {

/// The place and the time of one frame.
struct FrameEntry {
  std::uint64_t offset = 0;       ///< of its first byte in Frames::bytes
  std::uint64_t nanoseconds = 0;  ///< when it was captured, since 1970-01-01
  std::uint32_t size = 0;         ///< bytes; of a frame that the capture cut short, those that it has
};

/// Frames in their order.
struct Frames {
  static constexpr std::uint32_t kLargest = 65535;  ///< what one mbuf can hold

  std::vector<std::uint8_t> bytes;
  std::vector<FrameEntry> entries;

  void add(std::uint64_t nanoseconds, std::span<const std::uint8_t> frame);
  std::uint32_t largest() const;
};

/// Reads a capture (pcap or pcapng, any byte order, micro- or nanoseconds) into memory. Throws InputError, with the
/// file and where it matters the packet's number, if it cannot be read to its end, is not of Ethernet, has a frame
/// larger than Frames::kLargest, or is larger than the memory that is free.
Frames load_capture(const std::filesystem::path& file);

/// Deals the frames out to `queues` queues by flow, so that a flow stays in order in one of them.
std::vector<std::vector<FrameEntry>> partition(const Frames& frames, std::uint16_t queues);

}  // namespace penumbra::io
