// SPDX-License-Identifier: Apache-2.0
//
// When a worker hands its batches to an accelerator (PacketShader, section 7: opportunistic offloading). Under light
// load the CPU answers soonest; when the worker falls behind, the accelerator has to show that it gets more done.
#pragma once

#include <cstdint>

namespace penumbra::opportunistic {

/// Light or heavy load, for one worker. Told of every batch, with times in nanoseconds of any steady clock, it goes by
/// rounds of batches.
///
/// Load becomes heavy when most items of two rounds came in batches behind which more was waiting. Then there is a
/// trial: if the worker still falls behind, and no more items a second get done than before, the accelerator does not
/// help (other workers fill it, say, or it was lost), and is tried again after a pause that doubles. Load becomes light
/// again when for two rounds clearly fewer items came than the worker got done when it fell behind; when none came for
/// a while; and now and then to see what the CPU does by now.
class LoadChoice {
 public:
  static constexpr std::uint32_t kRound = 32;             ///< batches
  static constexpr std::uint32_t kRounds = 2;             ///< that have to agree
  static constexpr std::uint32_t kTrial = 4;              ///< rounds, behind the one in which the accelerator fills
  static constexpr double kCalm = 0.8;                    ///< of the rate at which the worker fell behind
  static constexpr double kFade = 0.95;                   ///< a round: what a rate that is not reached again is worth
  static constexpr std::uint64_t kGap = 1'000'000;        ///< between batches: there is no load
  static constexpr std::uint64_t kStay = 2'000'000;       ///< heavy at least, but for a gap
  static constexpr std::uint64_t kLook = 10'000'000'000;  ///< heavy at most
  static constexpr std::uint64_t kShortestPause = 1'000'000'000;  ///< after a trial that failed
  static constexpr std::uint64_t kLongestPause = 32'000'000'000;

  /// Batches that take longer on average than `max_delay` nanoseconds fail a trial too; 0: no matter how long.
  explicit LoadChoice(std::uint64_t max_delay = 0) : max_delay_(max_delay) {}

  bool is_heavy() const noexcept { return is_heavy_; }
  /// A batch of so many items was taken at this time. Whether a round has ended: only then does anything change.
  bool took(std::uint32_t items, bool is_pressed, std::uint64_t now) noexcept;
  /// A batch is there that the engine does not take yet: that is no gap.
  void waits(std::uint64_t now) noexcept { last_ = now; }
  /// One under heavy load came back after so long.
  void came_back(std::uint64_t after) noexcept {
    delay_ += after;
    ++delays_;
  }

  /// Items a nanosecond when the worker fell behind under light load, and under heavy load; 0: it has not yet.
  double light_rate() const noexcept { return light_rate_; }
  double heavy_rate() const noexcept { return heavy_rate_; }
  /// Trials that failed in a row.
  std::uint32_t failed() const noexcept { return failed_; }

 private:
  void begin_round(std::uint64_t now) noexcept;
  void end_round(std::uint64_t now) noexcept;
  void end_light_round(double rate, bool falls_behind, std::uint64_t now) noexcept;
  void end_heavy_round(double rate, bool falls_behind, std::uint64_t now) noexcept;
  void become(bool heavy, std::uint64_t now) noexcept;
  void fail_trial(std::uint64_t now) noexcept;

  const std::uint64_t max_delay_;
  bool is_heavy_ = false;
  std::uint64_t last_ = 0;   ///< batch, taken or waiting
  std::uint64_t begin_ = 0;  ///< of the round
  std::uint32_t batches_ = 0, delays_ = 0;
  std::uint64_t items_ = 0, pressed_items_ = 0, delay_ = 0;  ///< of the round
  std::uint32_t behind_ = 0;                                 ///< rounds in a row in which the worker fell behind
  std::uint32_t calm_ = 0;                                   ///< rounds in a row with few items
  bool is_filling_ = false;                                  ///< the round is the first under heavy load
  std::uint64_t since_ = 0;                                  ///< it is heavy
  std::uint64_t pause_until_ = 0;
  std::uint32_t failed_ = 0;
  double light_rate_ = 0, heavy_rate_ = 0;
};

}  // namespace penumbra::opportunistic
