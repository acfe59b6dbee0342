// SPDX-License-Identifier: Apache-2.0
#include "gopt/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/random.h"
#include "random_lines.h"

namespace penumbra::bench {
namespace {

constexpr std::uint32_t kLinesInARow = 4096;
constexpr unsigned kPasses = 3;  ///< Passes over all sizes in turn; the median of each size counts.
/// A size is tried on one part of the items after the other, so that no trial finds in a cache what another has read.
constexpr std::uint32_t kParts = 8;

void pass(Workload& workload, const Way& way, std::uint32_t size) {
  for (std::uint32_t first = 0; first < workload.items; first += workload.batch) way.run(first, workload.batch, size);
}

/// Returns the seconds per item of the part number `turn`.
double part_cost(Workload& workload, const Way& way, std::uint32_t size, std::size_t turn) {
  const std::uint32_t batches = workload.items / workload.batch, parts = std::clamp(batches, 1U, kParts);
  const std::uint32_t begin = batches / parts * static_cast<std::uint32_t>(turn % parts) * workload.batch;
  const std::uint32_t items = std::max(batches / parts, 1U) * workload.batch;
  const double begin_time = thread_time();
  for (std::uint32_t first = begin; first < begin + items; first += workload.batch) {
    way.run(first, workload.batch, size);
  }
  return (thread_time() - begin_time) / items;
}

void check(Workload& workload, const Way& way, std::uint32_t size) {
  const auto wrong = std::ranges::mismatch(workload.found, workload.right);
  if (wrong.in1 == workload.found.end()) return;
  throw WrongAnswer(fmt::format("{}: {}, {} at a time: byte {} of the answers is not the oracle's", workload.name,
                                way.name, size, wrong.in1 - workload.found.begin()));
}

}  // namespace

std::vector<Tuned> check_and_tune(Workload& workload) {
  std::vector<Tuned> best;
  for (const Way& way : workload.ways) {
    for (const std::uint32_t size : way.sizes) {
      // Clears the answers, so that answers of the way before do not count.
      std::ranges::transform(workload.right, workload.found.begin(), [](std::byte right) { return ~right; });
      pass(workload, way, size);
      check(workload, way, size);
    }
    std::vector<std::array<double, kPasses>> costs(way.sizes.size());
    for (unsigned p = 0; p < kPasses && costs.size() > 1; ++p) {
      for (std::size_t s = 0; s < costs.size(); ++s) {
        costs[s][p] = part_cost(workload, way, way.sizes[s], p * costs.size() + s);
      }
    }
    for (auto& each : costs) std::ranges::sort(each);
    const auto fastest = std::ranges::min_element(costs, {}, [](const auto& each) { return each[kPasses / 2]; });
    best.push_back({&way, way.sizes[static_cast<std::size_t>(fastest - costs.begin())]});
  }
  return best;
}

Calibrated::Calibrated(Workload& workload) : workload_(workload), choice_(gopt::length_class(workload.batch)) {
  for (std::uint32_t first = 0; choice_.cost() == 0; first = (first + workload.batch) % workload.items) run(first);
}

void Calibrated::run(std::uint32_t first) {
  const bool measures = choice_.is_trial();
  const std::uint32_t width = measures ? choice_.tried() : choice_.chosen();
  const std::uint64_t begin = measures ? __builtin_ia32_rdtsc() : 0;
  workload_.ways[width == 1 ? 0 : 1].run(first, workload_.batch, width);
  if (measures) {
    choice_.measured(__builtin_ia32_rdtsc() - begin, workload_.batch);
  } else {
    choice_.passed(workload_.batch);
  }
}

double line_rate(const Workload& workload, double seconds) {
  // Repeats the same lines, as passes over the items do, so that a cache holds as many of them.
  const auto lines_of_pass = static_cast<std::uint64_t>(workload.accesses * workload.items);
  Random random(1);
  std::uint64_t asked = 0, pass_ends = lines_of_pass;
  const double begin = thread_time();
  double end = begin;
  do {
    ask_for_random_lines(workload.table.data(), workload.table.size(), random, kLinesInARow);
    asked += kLinesInARow;
    if (asked >= pass_ends) {
      random = Random(1);
      pass_ends = asked + lines_of_pass;
    }
    end = thread_time();
  } while (end - begin < seconds);
  return static_cast<double>(asked) / (end - begin) * 1e-6;
}

}  // namespace penumbra::bench
