// SPDX-License-Identifier: Apache-2.0
//
// The digests come from Python's hashlib, for lengths near those at which padding needs another block.
#include "crypto/digest.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penumbra {
namespace {

TEST(Sha256, IsAsOthersHaveIt) {
  const std::vector<std::pair<std::size_t, std::string>> digests{
      {0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {3, "6ab0dba1f4f1dfbb37b4f9eeb092c09fca4900ad32bdcd147d8dde35d6c87c35"},
      {55, "81afe5b788dc2ce138ff83d9b20164db75a94d75d2b2432eea4a0ef605088c72"},
      {56, "2aba54f0ac632420a2b502431408866e40e1d5e430df4cd822642c78ab2eb9c1"},
      {63, "733d3d4ee79ee67145bf73da13588f6f235d37414fc64b14a2f00f1762792f5e"},
      {64, "79322907b3e9d013d7dc2c2f256674dbf733045cde01df3539271c6f5605feb8"},
      {65, "d85c007c6eb440f085afa2b84f6f2bce4658b240e9f62cb1364bf0485a57e720"},
      {119, "6c87eedf096b345de205b702e5223b73b447a3207791ded3ea007ba15ed6736e"},
      {120, "42500cf6a1e3936d6b9e0bcfe296d654b63255e525487d3634d0b15fde591c4d"},
      {1000, "6b0df76627243d095b0c4400cb658b7e804dd03461cc03aee8fc8fe0bcada168"}};
  for (const auto& [size, expected] : digests) {
    std::vector<std::uint8_t> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + size);
    std::string digest;
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (const std::uint8_t byte : sha256(bytes)) {
      digest += kDigits[byte / 16];
      digest += kDigits[byte % 16];
    }
    EXPECT_EQ(digest, expected) << size;
  }
}

}  // namespace
}  // namespace penumbra
