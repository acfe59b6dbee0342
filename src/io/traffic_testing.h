// SPDX-License-Identifier: Apache-2.0
//
// Gives tests generated frames and simple readers of their fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/traffic.h"

namespace penumbra::io::test {

using Frame = std::vector<std::uint8_t>;

inline Frame frame_of(const Traffic& traffic, std::uint64_t index) {
  Frame frame(control::SynthSource::kLargestFrame, 0xEE);
  frame.resize(traffic.fill(index, frame));
  return frame;
}

inline std::uint32_t number(const Frame& frame, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | frame[at + i];
  return value;
}

/// Returns the Internet checksum as RFC 1071 defines it. The result is 0 for data that includes its right checksum.
inline std::uint16_t checksum(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += i % 2 == 0 ? bytes[i] * 256U : bytes[i];
  while (sum > 0xFFFF) sum = sum % 65536 + sum / 65536;
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace penumbra::io::test
