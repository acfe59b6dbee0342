// SPDX-License-Identifier: Apache-2.0
//
// Who does which part of some items.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penumbra::bench::gpu {

/// How many of `items` each of `parts` does, so that none has more than one more than another.
std::vector<std::uint32_t> shares(std::uint32_t items, unsigned parts);

/// A contender's rates for amounts of work an item, in rising order.
struct RatesByWork {
  std::string name;
  std::vector<double> rates;
};

/// The least amount of work from which on `rates` are always above `others`, and to the largest measured; 0: none.
std::uint32_t crossover(std::span<const std::uint32_t> work, std::span<const double> rates,
                        std::span<const double> others);

/// In words, for each of `others`, from how many `unit` on `contender` is ahead.
std::string describe_crossovers(const RatesByWork& contender, std::span<const RatesByWork> others,
                                std::span<const std::uint32_t> work, const std::string& unit);

}  // namespace penumbra::bench::gpu
