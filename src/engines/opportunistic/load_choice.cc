// SPDX-License-Identifier: Apache-2.0
#include "opportunistic/load_choice.h"

#include <algorithm>

namespace penumbra::opportunistic {

void LoadChoice::begin(std::size_t ways) noexcept {
  count_ = ways;
  std::ranges::fill(ways_, Way());
  home_ = used_ = 0;
  is_filling_ = false;
  behind_ = calm_ = 0;
  begin_round(last_);
}

bool LoadChoice::took(std::uint32_t items, bool has_backlog, std::uint64_t now) noexcept {
  const bool is_gap = now - last_ > kGap;
  if (is_gap) {
    if (home_ != 0 || used_ != 0) settle(0, now);
    is_filling_ = false;
    behind_ = 0;
    begin_round(now);
  }
  last_ = now;
  items_ += items;
  if (has_backlog) backlog_items_ += items;
  const bool is_whole = ++batches_ == kRound;
  if (is_whole) end_round(now);
  return is_gap || is_whole;
}

void LoadChoice::begin_round(std::uint64_t now) noexcept {
  begin_ = now;
  batches_ = delays_ = 0;
  items_ = backlog_items_ = delay_ = 0;
}

void LoadChoice::end_round(std::uint64_t now) noexcept {
  const double rate = static_cast<double>(items_) / static_cast<double>(std::max<std::uint64_t>(now - begin_, 1));
  const bool falls_behind = backlog_items_ * 4 >= items_ * 3;
  const bool is_too_slow = max_delay_ > 0 && delay_ > max_delay_ * delays_;
  if (is_filling_) {
    is_filling_ = false;
  } else if (used_ != home_) {
    if (is_too_slow) {
      trial_.rate = 0;
      fail_trial(now);
    } else {
      end_trial_round(rate, falls_behind, now);
    }
  } else if (is_too_slow) {
    pause(ways_[home_], kLook, now);
    settle(0, now);
  } else {
    end_home_round(rate, falls_behind, now);
  }
  begin_round(now);
}

void LoadChoice::end_home_round(double rate, bool falls_behind, std::uint64_t now) noexcept {
  Way& home = ways_[home_];
  if (falls_behind) {
    // Interruptions of a worker only lower the rate, so the best of the last rounds is the nearest to its capacity.
    home.rate = behind_ == 0 ? rate : std::max(rate, kFade * home.rate);
    ++behind_;
    calm_ = 0;
  } else {
    behind_ = 0;
    calm_ = rate < kCalm * ways_[0].rate ? calm_ + 1 : 0;
  }
  if (home_ != 0 && calm_ >= kRounds && now - since_ >= kStay) return settle(0, now);
  const std::size_t next = due(now);
  if (next == home_) return;
  trial_ = {.since = now};
  use(next);
}

/// Returns the way whose trial is due; home_ if there is none.
std::size_t LoadChoice::due(std::uint64_t now) const noexcept {
  const Way& home = ways_[home_];
  std::size_t found = home_;
  for (std::size_t i = 0; i < count_; ++i) {
    const Way& way = ways_[i];
    const bool is_asked = behind_ >= kRounds || i == 0;
    const bool was_better = behind_ >= kTrial && home.rate < kWorse * way.rate;
    if (i == home_ || !is_asked || (now < way.again_at && !was_better)) continue;
    if (found == home_ || way.lost < ways_[found].lost) found = i;
  }
  return found;
}

void LoadChoice::end_trial_round(double rate, bool falls_behind, std::uint64_t now) noexcept {
  if (falls_behind) {
    ++trial_.behind;
    trial_.rate = std::max(trial_.rate, rate);
  } else {
    ++trial_.kept_up;
  }
  const bool is_needed = behind_ > 0;  // Otherwise the worker keeps up at home.
  if (trial_.kept_up >= kTrial) return win_trial(now);
  if (trial_.behind < (is_needed ? kTrial : kRounds)) return;
  if (is_needed && trial_.rate > kBetter * ways_[home_].rate) return win_trial(now);
  fail_trial(now);
}

void LoadChoice::use(std::size_t way) noexcept {
  is_filling_ = way != used_;
  used_ = way;
}

void LoadChoice::settle(std::size_t way, std::uint64_t now) noexcept {
  use(way);
  home_ = way;
  since_ = now;
  behind_ = calm_ = 0;
}

void LoadChoice::win_trial(std::uint64_t now) noexcept {
  ++trials_;
  const bool only_keeps_up = trial_.kept_up >= kTrial;
  Way& loser = ways_[home_];
  // If way 0 keeps up, the trial shows nothing about the other ways; they stay available for a growing load.
  if (used_ != 0 || !only_keeps_up) {
    if (now - since_ >= kLongestPause) loser.lost = 0;
    pause(loser, kLook, now);
  }
  if (trial_.rate > 0) ways_[used_].rate = trial_.rate;
  settle(used_, now);
  if (!only_keeps_up) behind_ = trial_.behind;
}

void LoadChoice::fail_trial(std::uint64_t now) noexcept {
  ++trials_;
  const double share = behind_ > 0 ? std::min(trial_.rate / ways_[home_].rate, 1.0) : 0;
  const double loss = static_cast<double>(now - trial_.since) * (1 - share);
  pause(ways_[used_], static_cast<std::uint64_t>(kTimesLoss * loss), now);
  ways_[used_].rate = trial_.rate;
  use(home_);
}

void LoadChoice::pause(Way& way, std::uint64_t least, std::uint64_t now) noexcept {
  way.again_at = now + std::min(std::max(kLook << std::min(way.lost, 16U), least), kLongestPause);
  ++way.lost;
}

}  // namespace penumbra::opportunistic
