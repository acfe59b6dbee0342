// SPDX-License-Identifier: Apache-2.0
#include "io/output_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <system_error>

namespace penumbra::io {

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code ignored;
  if (std::filesystem::status(a, ignored).type() == std::filesystem::file_type::character) return false;
  // weakly_canonical() resolves only absolute paths if the file does not exist.
  const auto canonical = [&ignored](const auto& file) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(file, ignored), ignored);
  };
  return canonical(a) == canonical(b) || std::filesystem::equivalent(a, b, ignored);
}

bool is_precious(const std::filesystem::path& file) {
  constexpr std::array<std::uint32_t, 5> kCaptures{0xA1B2C3D4, 0xD4C3B2A1, 0xA1B23C4D, 0x4D3CB2A1, 0x0A0D0D0A};
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored) || std::filesystem::is_empty(file, ignored)) return false;
  std::array<char, 4> bytes{};
  std::ifstream(file, std::ios::binary).read(bytes.data(), bytes.size());
  std::uint32_t magic = 0;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  return std::find(kCaptures.begin(), kCaptures.end(), magic) == kCaptures.end();
}

}  // namespace penumbra::io
