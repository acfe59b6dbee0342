// SPDX-License-Identifier: Apache-2.0
//
// Reads the content of XFRM messages. Every length and value is checked; what Linux refuses is refused with the same
// errno (Refused).
#pragma once

#include <linux/xfrm.h>

#include <cstdint>
#include <optional>
#include <span>

#include "control/xfrm/attributes.h"
#include "control/xfrm/model.h"
#include "control/xfrm/spd.h"

namespace penumbra::control::xfrm {

/// Returns the number of bytes of the fixed part of a request, or nothing if Linux takes no such request.
std::optional<std::size_t> fixed_bytes(std::uint16_t type);

/// Returns the fixed part of a message; the caller has checked its length.
template <class Fixed>
Fixed fixed_part(std::span<const std::uint8_t> payload) {
  Fixed fixed;
  std::memcpy(&fixed, payload.data(), sizeof fixed);
  return fixed;
}

/// Reads NEWSA and UPDSA. The keys are allocated in `keys`. `now` is the time of addition.
Sa read_sa(const xfrm_usersa_info& raw, const Attributes& attributes, KeyStore& keys, std::uint64_t now);
/// Reads the SA that ALLOCSPI describes, and checks its range.
Sa read_larval(const xfrm_userspi_info& raw, const Attributes& attributes, std::uint64_t now);
/// Reads NEWPOLICY and UPDPOLICY.
Policy read_policy(const xfrm_userpolicy_info& raw, const Attributes& attributes, std::uint64_t now);
/// Reads the key of DELPOLICY and GETPOLICY.
PolicyKey read_policy_key(const xfrm_userpolicy_id& raw, const Attributes& attributes);
/// Reads XFRMA_ENCAP. Throws Refused unless ESP is in UDP.
std::optional<Encapsulation> read_encapsulation(const Attributes& attributes);
/// Reads XFRMA_POLICY_TYPE; the default is the main type.
std::uint8_t read_policy_type(const Attributes& attributes);
/// Reads XFRMA_MARK; without it, the mark that every packet has.
Mark read_whole_mark(const Attributes& attributes);
/// Returns the mark by which an SA is looked up.
std::uint32_t read_mark(const Attributes& attributes);
/// Changes an SA as NEWAE demands.
void apply_event(const Attributes& attributes, Sa& sa);

}  // namespace penumbra::control::xfrm
