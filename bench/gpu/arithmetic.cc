// SPDX-License-Identifier: Apache-2.0
#include "gpu/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace penumbra::bench::gpu {

double percentile(std::vector<double>& samples, double part) {
  if (samples.empty()) throw std::invalid_argument("no samples");
  const auto count = static_cast<double>(samples.size());
  const auto rank = static_cast<std::size_t>(std::ceil(part * count));
  const auto place = samples.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(samples.begin(), place, samples.end());
  return *place;
}

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
