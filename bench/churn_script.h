// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inputs.h"

namespace penumbra::bench {

/// A route change: where the prefix leads afterwards, or that it is gone.
struct Change {
  Ipv4Prefix prefix;
  std::optional<std::uint16_t> after;
  std::uint32_t metric = 0;  ///< of the route, before and after
};

/// Changes to an InputTable, each of which changes something, and those that lead back.
struct ChurnScript {
  std::string name;
  std::string description;
  std::vector<Change> changes;
  std::vector<Change> undo;
  std::vector<Dir24_8::Entry> result;  ///< the table after `changes`
};

/// One third each: an unknown prefix comes (as long as one of the table's), a known one goes, a known one gets another
/// next hop; all drawn evenly.
ChurnScript random_churn(const InputTable& table, std::size_t changes, std::uint64_t seed);
/// As routers see it: few prefixes change most of the time (Zipf over the table with exponent 1), mostly to another
/// next hop (80%), else they go, and come back when next drawn.
ChurnScript bgp_churn(const InputTable& table, std::size_t changes, std::uint64_t seed);

}  // namespace penumbra::bench
