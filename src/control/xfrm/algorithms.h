// SPDX-License-Identifier: Apache-2.0
//
// Linux's names of algorithms, and those that Penumbra has (RFC 8221).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "control/xfrm/model.h"
#include "crypto/key_material.h"

namespace penumbra::control::xfrm {

enum class AlgorithmKind : std::uint8_t { aead, cipher, digest };

/// Looks up `algorithm` and gives it its full name and tag. `has_tag` is false if the sender left the length of a
/// digest's tag to the receiver. Throws Refused: ENOSYS for an unknown algorithm, EINVAL for a key or tag of a wrong
/// length.
void complete(Algorithm& algorithm, AlgorithmKind kind, bool has_tag);

/// Checks that the algorithms can serve an SA together: RFC 8221, section 4, forbids encryption without authentication.
/// Throws Refused with EINVAL.
void check_together(const Algorithms& algorithms);

/// Returns the keys of an SA that is not larval, as src/crypto takes them. The spans point into `sa`.
KeyMaterial key_material(const Sa& sa);

/// Returns true if two packets must never have the same IV under a key: all counter modes.
bool needs_unique_iv(const Algorithms& algorithms);

/// Returns the names that complete() knows, for messages.
std::vector<std::string_view> algorithm_names(AlgorithmKind kind);

}  // namespace penumbra::control::xfrm
