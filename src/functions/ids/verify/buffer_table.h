// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "functions/ids/rules/buffer.h"

namespace penumbra::ids {

/// The buffers of one packet or message. A buffer that is not set is absent, which differs from an empty buffer.
class BufferTable {
 public:
  void set(Buffer buffer, std::span<const std::uint8_t> bytes) { buffers_[index(buffer)] = bytes; }
  std::optional<std::span<const std::uint8_t>> get(Buffer buffer) const { return buffers_[index(buffer)]; }
  void clear() {
    buffers_ = {};
    payload_place_ = 0;
  }
  /// The place of the payload's first byte in its stream. Absolute positions of contents count from the stream's first
  /// byte.
  void set_payload_place(std::uint64_t place) { payload_place_ = place; }
  std::uint64_t place_of(Buffer buffer) const { return buffer == Buffer::payload ? payload_place_ : 0; }

 private:
  static constexpr std::size_t kBuffers = static_cast<std::size_t>(Buffer::smb_named_pipe) + 1;
  static std::size_t index(Buffer buffer) { return static_cast<std::size_t>(buffer); }

  std::array<std::optional<std::span<const std::uint8_t>>, kBuffers> buffers_;
  std::uint64_t payload_place_ = 0;
};

}  // namespace penumbra::ids
