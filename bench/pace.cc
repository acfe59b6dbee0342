// SPDX-License-Identifier: Apache-2.0
#include "pace.h"

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "bench.h"
#include "lookup_contender.h"
#include "penumbra/prefetch.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kLines = std::size_t{1} << 24;
constexpr std::uint64_t kAsked = std::uint64_t{1} << 21;
constexpr std::uint64_t kMultiplications = 20'000'000;
constexpr std::size_t kAtATime = 64;

}  // namespace

PaceMeter::PaceMeter() : lines_(kLines) {
  std::uint64_t value = 0;
  for (Line& line : lines_) line.value = ++value;  // memory that nobody wrote to may all be one page
}

double PaceMeter::memory() {
  std::array<const Line*, kAtATime> asked{};
  std::uint64_t sum = 0;
  const double begin = bench::now();
  for (std::uint64_t i = 0; i < kAsked; i += kAtATime) {
    for (const Line*& line : asked) {
      line = lines_.data() + Random::mixed(asked_++) % kLines;
      prefetch_line(line);
    }
    for (const Line* line : asked) sum += line->value;
  }
  keep(&sum);
  return static_cast<double>(kAsked) / (bench::now() - begin) * 1e-6;
}

double PaceMeter::core() {
  std::uint64_t product = 3;
  const double begin = bench::now();
  for (std::uint64_t i = 0; i < kMultiplications; ++i) {
    product = product * product + i;
  }
  keep(&product);
  return static_cast<double>(kMultiplications) / (bench::now() - begin) * 1e-6;
}

nlohmann::json PaceMeter::now() {
  return {{"memory", memory()}, {"core", core()}};
}

}  // namespace penumbra::bench
