// SPDX-License-Identifier: Apache-2.0
//
// When a worker hands its batches to an accelerator (PacketShader, section 7: opportunistic offloading), and to which.
// Under light load the CPU answers soonest; when the worker falls behind, what gets most done has to show it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penumbra::opportunistic {

/// Which of several ways a worker's batches go: way 0 under light load, under heavy load the one that gets most done.
/// Told of every batch, with times in nanoseconds of any steady clock, it goes by rounds of batches.
///
/// The worker falls behind in a round if most items came in batches behind which more was waiting. Where it does so for
/// two rounds, another way has a trial: if that gets clearly more items a second done, or keeps up, the worker stays
/// with it. The way that loses is tried again after a pause, which doubles each time that it loses, and at once if the
/// worker gets less done than that way did in its time. Way 0 has its trials too where the worker keeps up: measured
/// in a process that has just begun, with nothing in its caches, it does not show what it can do.
///
/// It is way 0 again when for two rounds clearly fewer items came than that got done when the worker fell behind, and
/// when none came for a while.
class LoadChoice {
 public:
  static constexpr std::uint32_t kRound = 32;         ///< batches
  static constexpr std::uint32_t kRounds = 2;         ///< that have to agree
  static constexpr std::uint32_t kTrial = 4;          ///< rounds, behind the one in which the way's queue fills
  static constexpr double kCalm = 0.8;                ///< of the rate at which the worker fell behind
  static constexpr double kFade = 0.95;               ///< a round: what a rate that is not reached again is worth
  static constexpr double kBetter = 1.02;             ///< times the rate: less is no reason to change
  static constexpr double kWorse = 0.95;              ///< times what another way got done: that one is tried again
  static constexpr std::uint64_t kGap = 1'000'000;    ///< between batches: there is no load
  static constexpr std::uint64_t kStay = 2'000'000;   ///< heavy at least, but for a gap
  static constexpr std::uint64_t kLook = 10'000'000;  ///< the shortest pause of a way that lost
  static constexpr double kTimesLoss = 64;            ///< as long at least as what its trial cost
  static constexpr std::uint64_t kLongestPause = 10'000'000'000;

  /// Among up to `most_ways` ways. Batches that take longer on average than `max_delay` nanoseconds fail a trial too;
  /// 0: no matter how long.
  LoadChoice(std::size_t most_ways, std::uint64_t max_delay) : max_delay_(max_delay), ways_(most_ways) {}

  /// So many ways, at least one, of which nothing is known; the likeliest stands first behind way 0.
  void begin(std::size_t ways) noexcept;
  /// The way for the next batch.
  std::size_t way() const noexcept { return used_; }
  /// A batch of so many items was taken at this time. Whether a round has ended: only then does anything change.
  bool took(std::uint32_t items, bool has_backlog, std::uint64_t now) noexcept;
  /// A batch is there that the engine does not take yet: that is no gap.
  void waits(std::uint64_t now) noexcept { last_ = now; }
  /// One by another way than 0 came back after so long.
  void came_back(std::uint64_t after) noexcept {
    delay_ += after;
    ++delays_;
  }

  /// Items a nanosecond when the worker fell behind on that way; 0: it has not yet.
  double rate(std::size_t way) const noexcept { return ways_[way].rate; }
  /// Trials that have ended, of any way.
  std::uint64_t trials() const noexcept { return trials_; }

 private:
  struct Way {
    double rate = 0;
    std::uint32_t lost = 0;      ///< times since it was the best for long
    std::uint64_t again_at = 0;  ///< its next trial may begin
  };
  struct Trial {
    std::uint64_t since = 0;
    std::uint32_t behind = 0, kept_up = 0;  ///< rounds
    double rate = 0;                        ///< the best in which the worker fell behind
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
  std::size_t count_ = 1;    ///< of these
  std::size_t home_ = 0;     ///< the best so far
  std::size_t used_ = 0;     ///< another one than home_: it has its trial
  std::uint64_t last_ = 0;   ///< batch, taken or waiting
  std::uint64_t begin_ = 0;  ///< of the round
  std::uint32_t batches_ = 0, delays_ = 0;
  std::uint64_t items_ = 0, backlog_items_ = 0, delay_ = 0;  ///< of the round
  bool is_filling_ = false;                                  ///< the round is the first on this way
  std::uint32_t behind_ = 0;  ///< rounds in a row in which the worker fell behind at home
  std::uint32_t calm_ = 0;    ///< rounds in a row with few items
  std::uint64_t since_ = 0;   ///< it is at home there
  Trial trial_;
  std::uint64_t trials_ = 0;
};

}  // namespace penumbra::opportunistic
