// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace penumbra::bench {

/// Samples of one thread whose core was whole meanwhile. A virtual machine's core is often one of the two threads of a
/// real one, and somebody else's work on the other comes and goes within a second: what keeps the core busy, and
/// does not wait for memory, then takes up to twice as long. Whether a sample is taken, and taken anew, is decided by
/// what the core did beside it, never by the sample.
class WholeCore {
 public:
  /// Calls of a sample at most; the last one stands.
  static constexpr unsigned kMostCalls = 8;
  /// Rates for which all samples together wait at most: some six seconds.
  static constexpr unsigned kMostWaits = 12'000;
  /// Of what is left of these one sample gets a quarter, so that those behind it are waited for too.
  static constexpr unsigned kShares = 4;
  /// Of the most that the core ever did, so much makes it whole. One of two threads gets half.
  static constexpr double kWhole = 0.8;

  /// Of the calling thread's core, which is to be the thread's for good. Takes a second to learn what it can do.
  /// `rate`: how much it does now.
  explicit WholeCore(std::function<double()> rate = core_rate);

  /// What `sample` returns, called when the core is whole, and anew until it still was right behind.
  double of(const std::function<double()>& sample);

  std::uint64_t samples() const { return samples_; }
  /// Those of which the last call still had but part of the core.
  std::uint64_t shared() const { return shared_; }

  /// Million additions a second that do not wait for each other, in half a millisecond.
  static double core_rate();

 private:
  double rate_now();
  bool will_be_whole(unsigned waits_kept);
  bool is_whole() { return rate_now() >= kWhole * most_; }

  std::function<double()> rate_;
  double most_ = 0;
  unsigned waits_left_ = kMostWaits;
  std::uint64_t samples_ = 0, shared_ = 0;
};

}  // namespace penumbra::bench
