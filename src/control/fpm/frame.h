// SPDX-License-Identifier: Apache-2.0
//
// The framing of FPM, by which FRR's zebra sends its routes to a forwarding plane over TCP. The header has the version
// (1), the type of the content (1: netlink) and the frame's length including these 4 bytes, in network order.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penumbra::control::fpm {

/// Splits a byte stream into frames, regardless of the sizes of its pieces.
class FrameReader {
 public:
  static constexpr std::size_t kHeaderBytes = 4;
  static constexpr std::size_t kMostBytes = 0xFFFF;  ///< Largest frame, bytes.

  FrameReader() : buffer_(kBufferBytes) {}

  /// Returns the buffer for the stream's next bytes, at least one byte. Invalidates the result of next().
  std::span<std::byte> room();
  /// Adds `bytes` bytes that were written to room().
  void fill(std::size_t bytes) { end_ += bytes; }

  /// Returns the content of the next frame, aligned to 4 bytes. Returns nothing if the frame is incomplete or after a
  /// failure().
  std::optional<std::span<const std::byte>> next();
  /// Returns why the stream is invalid, or empty if it is valid. An invalid stream yields no more frames.
  const std::string& failure() const { return failure_; }
  /// Returns true if the buffer holds an incomplete frame.
  bool within_frame() const { return begin_ != end_; }

 private:
  static constexpr std::size_t kBufferBytes = 4 * (kMostBytes + 1);

  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< Range of buffer_ that was received and not yet returned.
  std::vector<std::byte> aligned_;   ///< Copy of a frame that is not aligned in buffer_.
  std::string failure_;
};

}  // namespace penumbra::control::fpm
