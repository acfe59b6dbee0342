// SPDX-License-Identifier: Apache-2.0
#include "gpu/arithmetic.h"

#include <fmt/format.h>

#include <stdexcept>

namespace penumbra::bench::gpu {

std::vector<std::uint32_t> shares(std::uint32_t items, unsigned parts) {
  std::vector<std::uint32_t> result(parts, items / parts);
  for (std::uint32_t i = 0; i < items % parts; ++i) ++result[i];
  return result;
}

std::uint32_t crossover(std::span<const std::uint32_t> work, std::span<const double> rates,
                        std::span<const double> others) {
  if (rates.size() != work.size() || others.size() != work.size()) throw std::invalid_argument("not a rate for each");
  std::uint32_t from = 0;
  for (std::size_t i = work.size(); i-- > 0 && rates[i] > others[i];) from = work[i];
  return from;
}

std::string describe_crossovers(const RatesByWork& contender, std::span<const RatesByWork> others,
                                std::span<const std::uint32_t> work, const std::string& unit) {
  std::string text = contender.name + " is ahead of";
  for (const RatesByWork& other : others) {
    const std::uint32_t from = crossover(work, contender.rates, other.rates);
    text += &other == &others.front() ? " " : "; ";
    text +=
        from == 0 ? fmt::format("{} with none", other.name) : fmt::format("{} from {} {} on", other.name, from, unit);
  }
  return text;
}

}  // namespace penumbra::bench::gpu
