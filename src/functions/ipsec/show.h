// SPDX-License-Identifier: Apache-2.0
//
// What `penumbra show` prints of SAs and policies. No key is ever printed.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/row_limit.h"
#include "functions/ipsec/snapshot.h"

namespace penumbra::ipsec {

/// Returns the rows of `show sa`. `mtu` is that of sealed packets.
nlohmann::ordered_json show_sas(const Snapshot& snapshot, std::uint16_t mtu, const RowLimit& limit);
/// Returns the rows of `show policy`.
nlohmann::ordered_json show_policies(const Snapshot& snapshot, const RowLimit& limit);

}  // namespace penumbra::ipsec
