// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>

#include "base/random.h"
#include "chase.gopt.h"
#include "gopt/comparators/amac.h"
#include "gopt/comparators/coroutines.h"
#include "gopt/comparators/group_prefetch.h"
#include "gopt/workload.h"
#include "penumbra/huge_memory.h"
#include "permutation.h"

namespace penumbra::bench {
namespace {

/// Computes the answers from the permutation itself, all chains step by step.
std::vector<std::uint32_t> follow(const Permutation& next, std::vector<std::uint32_t> at, std::uint32_t steps) {
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::uint32_t& each : at) each = next(each);
  }
  return at;
}

/// Computes the answers of chase_and_work().
std::vector<std::uint32_t> follow_and_work(const Permutation& next, std::vector<std::uint32_t> at, std::uint32_t steps,
                                           std::uint32_t work) {
  std::vector<std::uint32_t> sums(at.size(), 0);
  for (std::size_t i = 0; i < at.size(); ++i) {
    for (std::uint32_t step = 0; step < steps; ++step) {
      std::uint32_t product = at[i] = next(at[i]);
      for (std::uint32_t round = 0; round < work; ++round) product = product * 0x9E3779B1U + step;
      sums[i] += product;
    }
  }
  return sums;
}

class Chase final : public Workload {
 public:
  Chase(std::size_t bytes, std::uint32_t steps, std::uint32_t work, std::uint32_t item_count, std::uint64_t seed)
      : Workload(fmt::format("chase of {}", steps), item_count), lines_(std::bit_floor(bytes / sizeof(chase_line))) {
    const Permutation next(static_cast<unsigned>(std::countr_zero(lines_.size())), seed);
    for (std::uint32_t line = 0; line < lines_.size(); ++line) lines_[line].next = next(line);
    Random random(seed + 1);
    starts_.resize(items);
    for (std::uint32_t& start : starts_) start = random.below(static_cast<std::uint32_t>(lines_.size()));
    view_ = {lines_.data(), steps, work};
    accesses = steps;
    input =
        fmt::format("a permutation of {} cache lines; {} chains of {} from random ones", lines_.size(), items, steps);
    table = std::as_bytes(std::span(lines_.data(), lines_.size()));
    set_right(work == 0 ? follow(next, starts_, steps) : follow_and_work(next, starts_, steps, work));
    if (work == 0) {
      add_ways();
    } else {
      add_ways_with_work();
    }
  }

 private:
  void add_ways() {
    ways.push_back({"plain loop", {1}, [this](std::uint32_t first, std::uint32_t n, std::uint32_t /*size*/) {
                      chase(view_, &starts_[first], found_from<std::uint32_t>(first), n);
                    }});
    ways.push_back({"gopt", kGoptWidths, [this](std::uint32_t first, std::uint32_t n, std::uint32_t size) {
                      chase_gopt(view_, &starts_[first], found_from<std::uint32_t>(first), n, size);
                    }});
    ways.push_back(by_group_prefetching(
        [this](std::uint32_t first) { return ChaseGroups{view_, &starts_[first], found_from<std::uint32_t>(first)}; }));
    ways.push_back(by_amac(
        [this](std::uint32_t first) { return ChaseAmac{view_, &starts_[first], found_from<std::uint32_t>(first)}; }));
    ways.push_back(by_coroutines([this](std::uint32_t first) {
      return ChaseCoroutines{view_, &starts_[first], found_from<std::uint32_t>(first)};
    }));
  }
  void add_ways_with_work() {
    ways.push_back({"plain loop", {1}, [this](std::uint32_t first, std::uint32_t n, std::uint32_t /*size*/) {
                      chase_and_work(view_, &starts_[first], found_from<std::uint32_t>(first), n);
                    }});
    ways.push_back({"gopt", kGoptWidths, [this](std::uint32_t first, std::uint32_t n, std::uint32_t size) {
                      chase_and_work_gopt(view_, &starts_[first], found_from<std::uint32_t>(first), n, size);
                    }});
  }

  HugeArray<chase_line> lines_;
  std::vector<std::uint32_t> starts_;
  chase_view view_{};
};

}  // namespace

std::unique_ptr<Workload> make_chase(std::size_t bytes, std::uint32_t steps, std::uint32_t items, std::uint64_t seed) {
  return std::make_unique<Chase>(bytes, steps, 0, items, seed);
}

std::unique_ptr<Workload> make_chase_and_work(std::size_t bytes, std::uint32_t steps, std::uint32_t work,
                                              std::uint32_t items, std::uint64_t seed) {
  return std::make_unique<Chase>(bytes, steps, work, items, seed);
}

}  // namespace penumbra::bench
