// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace penumbra::bench {

/// Takes samples of one thread while its core is whole. A virtual machine's core is often one of the two hardware
/// threads of a physical core. Other work on the second thread comes and goes within a second. Work that is not bound
/// by memory then takes up to twice as long. The decision to take or repeat a sample depends on the core's rate before
/// and after it, never on the sample.
class WholeCore {
 public:
  /// Most calls of a sample; the last one counts.
  static constexpr unsigned kMostCalls = 8;
  /// Most rate measurements for which all samples together wait: about six seconds.
  static constexpr unsigned kMostWaits = 12'000;
  /// A sample may use a quarter of the remaining waits, so that later samples can wait too.
  static constexpr unsigned kShares = 4;
  /// The core is whole from this share of its highest rate. One of two busy threads gets half.
  static constexpr double kWhole = 0.8;

  /// Uses the calling thread's core, to which the thread must stay pinned. Takes a second to learn the core's rate.
  /// `rate` returns the core's present rate.
  explicit WholeCore(std::function<double()> rate = core_rate);

  /// Calls `sample` when the core is whole, and again until the core was still whole after the call. Returns the last
  /// figure.
  double of(const std::function<double()>& sample);

  std::uint64_t samples() const { return samples_; }
  /// Returns the number of samples whose last call had only a part of the core.
  std::uint64_t shared() const { return shared_; }

  /// Measures million independent additions per second, in half a millisecond.
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
