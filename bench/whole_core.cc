// SPDX-License-Identifier: Apache-2.0
#include "whole_core.h"

#include <algorithm>
#include <utility>

#include "bench.h"

namespace penumbra::bench {
namespace {

constexpr unsigned kFirstRates =
    2000;  ///< Measurements of half a millisecond; the core is whole in some of them, if it ever is.
constexpr double kRateSeconds = 0.0005;
constexpr std::uint64_t kTurns = 4096;
constexpr std::uint64_t kAdditions = 8;  ///< Independent additions per turn, more than a core starts at once.

}  // namespace

WholeCore::WholeCore(std::function<double()> rate) : rate_(std::move(rate)) {
  for (unsigned i = 0; i < kFirstRates; ++i) rate_now();
}

double WholeCore::core_rate() {
  std::uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
  std::uint64_t turns = 0;
  const double begin = now();
  double end = begin;
  do {
    for (std::uint64_t i = 0; i < kTurns; ++i) {
      // Assembly, because a compiler would merge the additions of all turns.
      asm volatile(
          "add $1, %0\n\tadd $1, %1\n\tadd $1, %2\n\tadd $1, %3\n\t"
          "add $1, %4\n\tadd $1, %5\n\tadd $1, %6\n\tadd $1, %7"
          : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h)
          :
          : "cc");
    }
    turns += kTurns;
    end = now();
  } while (end - begin < kRateSeconds);
  return static_cast<double>(turns * kAdditions) / (end - begin) * 1e-6;
}

double WholeCore::rate_now() {
  const double rate = rate_();
  most_ = std::max(most_, rate);
  return rate;
}

/// Waits until the core is whole, as long as more than `waits_kept` waits are left. Returns true if it is.
bool WholeCore::will_be_whole(unsigned waits_kept) {
  for (; !is_whole(); --waits_left_) {
    if (waits_left_ == waits_kept) return false;
  }
  return true;
}

double WholeCore::of(const std::function<double()>& sample) {
  ++samples_;
  double figure = 0;
  const unsigned waits_kept = waits_left_ - waits_left_ / kShares;
  for (unsigned call = 0; call < kMostCalls; ++call) {
    const bool was_whole = will_be_whole(waits_kept);
    figure = sample();
    if (is_whole() && was_whole) return figure;
  }
  ++shared_;
  return figure;
}

}  // namespace penumbra::bench
