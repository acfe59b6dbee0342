// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

#include "penumbra/bytes.h"

namespace penumbra {

/// Returns the frames of a capture file, for tests. The file has the classic Ethernet format with microsecond
/// timestamps.
inline std::vector<std::vector<std::uint8_t>> frames_of(const std::filesystem::path& path) {
  constexpr std::size_t kFileHeader = 24, kPacketHeader = 16, kLengthAt = 8;
  std::ifstream file(path, std::ios::binary);
  file.ignore(kFileHeader);
  std::vector<std::vector<std::uint8_t>> frames;
  std::array<char, kPacketHeader> header;
  while (file.read(header.data(), header.size())) {
    const auto length = load<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(header.data()) + kLengthAt);
    std::vector<std::uint8_t> frame(length);
    if (!file.read(reinterpret_cast<char*>(frame.data()), length)) break;
    frames.push_back(std::move(frame));
  }
  return frames;
}

}  // namespace penumbra
