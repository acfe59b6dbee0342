// SPDX-License-Identifier: Apache-2.0
//
// Divides items into parts, and compares rates.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penumbra::bench::gpu {

/// Divides `items` into `parts` shares that differ by at most one.
std::vector<std::uint32_t> shares(std::uint32_t items, unsigned parts);

/// A contender's rates by amount of work per item, in ascending order.
struct RatesByWork {
  std::string name;
  std::vector<double> rates;
};

/// Returns the least amount of work from which on `rates` exceed `others` up to the largest measured amount; 0: there
/// is none.
std::uint32_t crossover(std::span<const std::uint32_t> work, std::span<const double> rates,
                        std::span<const double> others);

/// Describes for each of `others` from how many `unit` on `contender` is faster.
std::string describe_crossovers(const RatesByWork& contender, std::span<const RatesByWork> others,
                                std::span<const std::uint32_t> work, const std::string& unit);

}  // namespace penumbra::bench::gpu
