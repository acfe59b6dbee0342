// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inputs.h"

namespace penumbra::bench {

/// A route change: the prefix's next hop afterwards, or none if the route is removed.
struct Change {
  Ipv4Prefix prefix;
  std::optional<std::uint16_t> after;
  std::uint32_t metric = 0;  ///< Metric of the route, before and after.
};

/// Effective changes to an InputTable, and the changes that undo them.
struct ChurnScript {
  std::string name;
  std::string description;
  std::vector<Change> changes;
  std::vector<Change> undo;
  std::vector<Dir24_8::Entry> result;  ///< The table after `changes`.
};

/// Makes changes of three kinds, a third each, drawn uniformly. A change adds an unknown prefix of a length that occurs
/// in the table, removes a known prefix, or changes its next hop.
ChurnScript random_churn(const InputTable& table, std::size_t changes, std::uint64_t seed);
/// Makes changes as routers see them. Few prefixes change most of the time (Zipf over the table with exponent 1). 80%
/// of changes set another next hop; the rest remove the prefix, which the next change to it adds again.
ChurnScript bgp_churn(const InputTable& table, std::size_t changes, std::uint64_t seed);

}  // namespace penumbra::bench
