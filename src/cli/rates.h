// SPDX-License-Identifier: Apache-2.0
//
// Rates: what a running router counted between two answers to the same `show`.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace penumbra::cli {

/// The rows of `now` with their counters, behind each of packets its packets a second, behind each of bytes the bits a
/// second on the wire, and, of rows that carry raw `counters` (workers, functions), burst, cycles per packet and busy
/// share of the time between. `before` was answered `seconds` earlier; a row that it lacks stood at 0. All rates are
/// null if `before` is null, or if a counter has gone back: then another router answers. What only describes a row (its
/// MAC address, say) is left out.
nlohmann::ordered_json with_rates(const nlohmann::ordered_json& before, const nlohmann::ordered_json& now,
                                  double seconds);

}  // namespace penumbra::cli
