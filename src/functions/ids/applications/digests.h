// SPDX-License-Identifier: Apache-2.0
//
// Digests that name certificates and fingerprints. They protect nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace penumbra::ids {

std::array<std::uint8_t, 16> md5(std::span<const std::uint8_t> bytes);   ///< RFC 1321
std::array<std::uint8_t, 20> sha1(std::span<const std::uint8_t> bytes);  ///< FIPS 180-4

}  // namespace penumbra::ids
