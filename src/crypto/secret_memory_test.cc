// SPDX-License-Identifier: Apache-2.0
#include "crypto/secret_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "base/sanitizer_scale.h"

namespace penumbra {
namespace {

/// Returns the line of flags of the mapping that begins at `address`.
std::string flags_of(const void* address) {
  std::ostringstream begin;
  begin << std::hex << reinterpret_cast<std::uintptr_t>(address) << '-';
  std::ifstream maps("/proc/self/smaps");
  bool is_found = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with(begin.str())) is_found = true;
    if (is_found && line.starts_with("VmFlags:")) return line + " ";
  }
  return {};
}

TEST(SecretMemory, IsLockedAndNotDumped) {
  if (PENUMBRA_SANITIZED) GTEST_SKIP() << "sanitizers make mlock() do nothing";
  const SecretMemory memory(10'000);
  const std::string flags = flags_of(memory.data());
  EXPECT_NE(flags.find(" lo "), std::string::npos) << flags;
  EXPECT_NE(flags.find(" dd "), std::string::npos) << flags;
}

TEST(SecretMemory, StartsAsZerosAndMoves) {
  SecretMemory memory(5000);
  for (std::size_t i = 0; i < memory.bytes(); ++i) ASSERT_EQ(memory.data()[i], std::byte{0});
  memory.data()[4999] = std::byte{7};
  SecretMemory other = std::move(memory);
  EXPECT_EQ(other.bytes(), 5000U);
  EXPECT_EQ(other.data()[4999], std::byte{7});
  other = SecretMemory();
  EXPECT_EQ(SecretMemory(0).data(), nullptr);
}

TEST(SecretArray, ErasesOneElement) {
  SecretArray<std::uint64_t> array(3);
  for (std::size_t i = 0; i < array.size(); ++i) array[i] = i + 1;
  array.erase(1);
  EXPECT_EQ(array[0], 1U);
  EXPECT_EQ(array[1], 0U);
  EXPECT_EQ(array[2], 3U);
}

}  // namespace
}  // namespace penumbra
