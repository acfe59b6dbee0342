// SPDX-License-Identifier: Apache-2.0
//
// The framing of FPM, by which FRR's zebra hands its routes to a forwarding plane over TCP: version (1), type of what
// is inside (1: netlink), and the frame's length with these 4 bytes, in network order.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penumbra::control::fpm {

/// Cuts a stream into frames, however it comes in pieces.
class FrameReader {
 public:
  static constexpr std::size_t kHeaderBytes = 4;
  static constexpr std::size_t kMostBytes = 0xFFFF;  ///< of a frame

  FrameReader() : buffer_(kBufferBytes) {}

  /// Where the stream's next bytes belong, at least one of them. Until then what next() gave is valid.
  std::span<std::byte> room();
  /// So many have been written there.
  void fill(std::size_t bytes) { end_ += bytes; }

  /// What the next frame holds, aligned to 4 bytes; nothing if it is not whole yet, or if there is a failure().
  std::optional<std::span<const std::byte>> next();
  /// Why the stream is none of frames; empty: it is. It is over then.
  const std::string& failure() const { return failure_; }
  /// Whether a part of a frame waits for its rest.
  bool within_frame() const { return begin_ != end_; }

 private:
  static constexpr std::size_t kBufferBytes = 4 * (kMostBytes + 1);

  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< of what has come and not been given out
  std::vector<std::byte> aligned_;   ///< a frame that is not aligned where it lies
  std::string failure_;
};

}  // namespace penumbra::control::fpm
