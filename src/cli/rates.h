// SPDX-License-Identifier: Apache-2.0
//
// Rates of the counters of a running router between two answers to the same `show`.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace penumbra::cli {

/// Returns the counters of the rows of `now` with rates. A packets per second column follows each counter of packets,
/// and a column of bits per second on the wire follows each counter of bytes. Rows with raw `counters` (workers,
/// functions) also have burst, cycles per packet and busy share of the interval. `before` is the answer of `seconds`
/// earlier; a row that it lacks counts as 0. All rates are null if `before` is null, or if a counter decreased because
/// another router answered. Descriptive columns, for example the MAC address, are omitted.
nlohmann::ordered_json with_rates(const nlohmann::ordered_json& before, const nlohmann::ordered_json& now,
                                  double seconds);

}  // namespace penumbra::cli
