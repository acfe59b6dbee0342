// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "functions/ids/rules/payload_test.h"

namespace penumbra::ids {

/// Reads the number of a field from exactly the bytes `bytes`: binary, or text of which the leading digits count. The
/// mask is applied. Returns nothing for a text without digits and for a number above 64 bits.
std::optional<std::uint64_t> read_number(const NumberField& field, std::span<const std::uint8_t> bytes);

}  // namespace penumbra::ids
