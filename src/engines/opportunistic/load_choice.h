// SPDX-License-Identifier: Apache-2.0
//
// Decides when a worker hands its batches to an accelerator, and to which (PacketShader, section 7: opportunistic
// offloading). Under light load the CPU answers soonest. When the worker cannot keep up, a trial shows which way has
// the most throughput.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penumbra::opportunistic {

/// Chooses one of several ways for a worker's batches: way 0 under light load, under heavy load the way with the most
/// throughput. LoadChoice sees every batch, with times in nanoseconds of any steady clock, and decides after rounds of
/// batches.
///
/// The worker cannot keep up in a round if most items came in batches with a backlog. After two such rounds another way
/// has a trial. If the trial has clearly more throughput, or keeps up, the worker stays with that way. The way that
/// loses is tried again after a pause, which doubles with each loss. The losing way is tried at once if the worker's
/// throughput drops below the way's former throughput. Way 0 has trials also while the worker keeps up: in a new
/// process with cold caches, its first measurements are too low.
///
/// The choice returns to way 0 after two rounds with clearly fewer items than it processed when the worker could not
/// keep up. It also returns after a gap without batches.
class LoadChoice {
 public:
  static constexpr std::uint32_t kRound = 32;  ///< Batches of a round.
  static constexpr std::uint32_t kRounds = 2;  ///< Consecutive rounds that must agree.
  static constexpr std::uint32_t kTrial = 4;   ///< Rounds of a trial, after the round in which the way's queue fills.
  static constexpr double kCalm = 0.8;         ///< Share of the rate at which the worker could not keep up.
  static constexpr double kFade = 0.95;        ///< Factor per round on a rate that is not reached again.
  static constexpr double kBetter = 1.02;      ///< Least gain in rate for a change.
  static constexpr double kWorse = 0.95;       ///< Share of another way's rate below which that way is tried again.
  static constexpr std::uint64_t kGap = 1'000'000;    ///< Nanoseconds between batches that count as no load.
  static constexpr std::uint64_t kStay = 2'000'000;   ///< Least nanoseconds under heavy load, unless a gap comes.
  static constexpr std::uint64_t kLook = 10'000'000;  ///< Shortest pause, ns, of a way that lost.
  static constexpr double kTimesLoss = 64;            ///< Least pause, in multiples of the time that the trial lost.
  static constexpr std::uint64_t kLongestPause = 10'000'000'000;

  /// Chooses among up to `most_ways` ways. A trial also fails if its batches take longer than `max_delay` nanoseconds
  /// on average; 0: no limit.
  LoadChoice(std::size_t most_ways, std::uint64_t max_delay) : max_delay_(max_delay), ways_(most_ways) {}

  /// Starts with `ways` ways, at least one, without measurements. The likeliest way comes first after way 0.
  void begin(std::size_t ways) noexcept;
  /// Returns the way for the next batch.
  std::size_t way() const noexcept { return used_; }
  /// Records a batch of `items` items taken at time `now`. Returns true if a round has ended; the choice changes only
  /// then.
  bool took(std::uint32_t items, bool has_backlog, std::uint64_t now) noexcept;
  /// Records that a batch waits for the engine, so that the time does not count as a gap.
  void waits(std::uint64_t now) noexcept { last_ = now; }
  /// Records that a batch on a way other than 0 came back after `after` nanoseconds.
  void came_back(std::uint64_t after) noexcept {
    delay_ += after;
    ++delays_;
  }

  /// Returns the items per nanosecond while the worker could not keep up on that way; 0 if it has not yet.
  double rate(std::size_t way) const noexcept { return ways_[way].rate; }
  /// Returns the number of trials that have ended, of all ways.
  std::uint64_t trials() const noexcept { return trials_; }

 private:
  struct Way {
    double rate = 0;
    std::uint32_t lost = 0;      ///< Lost trials since this way was the best for long.
    std::uint64_t again_at = 0;  ///< Time from which the next trial may begin.
  };
  struct Trial {
    std::uint64_t since = 0;
    std::uint32_t behind = 0, kept_up = 0;  ///< Rounds in which the worker did not keep up, and in which it did.
    double rate = 0;                        ///< Best rate of rounds in which the worker did not keep up.
  };

  void begin_round(std::uint64_t now) noexcept;
  void end_round(std::uint64_t now) noexcept;
  void end_home_round(double rate, bool falls_behind, std::uint64_t now) noexcept;
  void end_trial_round(double rate, bool falls_behind, std::uint64_t now) noexcept;
  std::size_t due(std::uint64_t now) const noexcept;
  void use(std::size_t way) noexcept;
  void settle(std::size_t way, std::uint64_t now) noexcept;
  void win_trial(std::uint64_t now) noexcept;
  void fail_trial(std::uint64_t now) noexcept;
  static void pause(Way& way, std::uint64_t least, std::uint64_t now) noexcept;

  const std::uint64_t max_delay_;
  std::vector<Way> ways_;
  std::size_t count_ = 1;    ///< Ways in use of ways_.
  std::size_t home_ = 0;     ///< Best way so far.
  std::size_t used_ = 0;     ///< Way in use; it differs from home_ during a trial.
  std::uint64_t last_ = 0;   ///< Time of the last batch, taken or waiting.
  std::uint64_t begin_ = 0;  ///< Begin of the round.
  std::uint32_t batches_ = 0, delays_ = 0;
  std::uint64_t items_ = 0, backlog_items_ = 0, delay_ = 0;  ///< Sums of the round.
  bool is_filling_ = false;                                  ///< True in the first round on this way.
  std::uint32_t behind_ = 0;                                 ///< Consecutive rounds at home without keeping up.
  std::uint32_t calm_ = 0;                                   ///< Consecutive rounds with few items.
  std::uint64_t since_ = 0;                                  ///< Time of the last change of home_.
  Trial trial_;
  std::uint64_t trials_ = 0;
};

}  // namespace penumbra::opportunistic
