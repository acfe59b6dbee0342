// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace penumbra {

/// Returns the SHA-256 of `bytes` (FIPS 180-4, section 6.2). Neither allocates nor throws.
std::array<std::uint8_t, 32> sha256(std::span<const std::uint8_t> bytes) noexcept;

}  // namespace penumbra
