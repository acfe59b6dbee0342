// SPDX-License-Identifier: Apache-2.0
//
// Gives tests generated frames and simple readers of their fields.
#pragma once

#include <cstddef>
#include <cstdint>

#include "io/frames.h"
#include "io/traffic.h"
#include "testing/packet.h"

namespace penumbra::io::test {

using function_testing::checksum;
using Frame = function_testing::Bytes;

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

/// Returns frames of flows with a Zipf distribution. Frame i has the time i.
inline Frames zipf_frames(std::uint32_t flows, std::uint64_t count) {
  control::SynthSource source;
  source.destinations = control::SynthSource::Destinations::zipf;
  source.flows = flows;
  const Traffic traffic(source);
  Frames frames;
  Frame frame(control::SynthSource::kLargestFrame);
  for (std::uint64_t i = 0; i < count; ++i) frames.add(i, {frame.data(), traffic.fill(i, frame)});
  return frames;
}

}  // namespace penumbra::io::test
