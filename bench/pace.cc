// SPDX-License-Identifier: Apache-2.0
#include "pace.h"

#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/sanitizer_scale.h"
#include "bench.h"
#include "lookup_contender.h"
#include "random_lines.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kBytes = (std::size_t{1} << 30) / kSanitizerScale;
constexpr std::uint32_t kLines = (1U << 23) / kSanitizerScale, kLinesAhead = 64;
constexpr std::uint32_t kMultiplications = 20'000'000 / kSanitizerScale;

}  // namespace

PaceMeter::PaceMeter() : memory_(kBytes) {
  std::memset(memory_.data(), 1, kBytes);  // Untouched pages may all map to one zero page.
}

double PaceMeter::memory() {
  // Prefetched lines are also read, because a core with too many requests may drop prefetches.
  Random ahead = random_;
  ask_for_random_lines(memory_.data(), kBytes, ahead, kLinesAhead);
  std::uint64_t sum = 0;
  const double begin = bench::now();
  for (std::uint32_t i = 0; i < kLines; ++i) {
    prefetch_line(random_line(memory_.data(), kBytes, ahead));
    sum += std::to_integer<std::uint64_t>(*random_line(memory_.data(), kBytes, random_));
  }
  keep(&sum);
  return kLines / (bench::now() - begin) * 1e-6;
}

double PaceMeter::core() {
  std::uint64_t product = 3;
  const double begin = bench::now();
  for (std::uint32_t i = 0; i < kMultiplications; ++i) product = product * product + i;
  keep(&product);
  return kMultiplications / (bench::now() - begin) * 1e-6;
}

nlohmann::json PaceMeter::now() {
  return {{"memory", memory()}, {"core", core()}};
}

}  // namespace penumbra::bench
