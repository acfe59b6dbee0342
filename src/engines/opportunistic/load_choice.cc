// SPDX-License-Identifier: Apache-2.0
#include "opportunistic/load_choice.h"

#include <algorithm>

namespace penumbra::opportunistic {

bool LoadChoice::took(std::uint32_t items, bool is_pressed, std::uint64_t now) noexcept {
  const bool is_gap = now - last_ > kGap;
  if (is_gap) {
    if (is_heavy_) become(false, now);
    behind_ = 0;
    begin_round(now);
  }
  last_ = now;
  items_ += items;
  if (is_pressed) pressed_items_ += items;
  const bool is_whole = ++batches_ == kRound;
  if (is_whole) end_round(now);
  return is_gap || is_whole;
}

void LoadChoice::begin_round(std::uint64_t now) noexcept {
  begin_ = now;
  batches_ = delays_ = 0;
  items_ = pressed_items_ = delay_ = 0;
}

void LoadChoice::end_round(std::uint64_t now) noexcept {
  const double rate = static_cast<double>(items_) / static_cast<double>(std::max<std::uint64_t>(now - begin_, 1));
  const bool falls_behind = pressed_items_ * 4 >= items_ * 3;
  if (is_heavy_) {
    end_heavy_round(rate, falls_behind, now);
  } else {
    end_light_round(rate, falls_behind, now);
  }
  begin_round(now);
}

void LoadChoice::end_light_round(double rate, bool falls_behind, std::uint64_t now) noexcept {
  if (!falls_behind) {
    behind_ = 0;
    return;
  }
  // What interrupts a worker only lowers the rate: the best of the last rounds is nearest to what it can do.
  light_rate_ = behind_ == 0 ? rate : std::max(rate, kFade * light_rate_);
  if (++behind_ >= kRounds && now >= pause_until_) become(true, now);
}

void LoadChoice::end_heavy_round(double rate, bool falls_behind, std::uint64_t now) noexcept {
  if (is_filling_) {
    is_filling_ = false;
    return;
  }
  if (max_delay_ > 0 && delay_ > max_delay_ * delays_) return fail_trial(now);
  if (falls_behind) {
    calm_ = 0;
    heavy_rate_ = behind_ == 0 ? rate : std::max(rate, kFade * heavy_rate_);
    if (++behind_ >= kTrial) {
      if (heavy_rate_ < light_rate_) return fail_trial(now);
      failed_ = 0;
    }
  } else {
    behind_ = 0;
    calm_ = rate < kCalm * light_rate_ ? calm_ + 1 : 0;
  }
  if ((calm_ >= kRounds && now - since_ >= kStay) || now - since_ >= kLook) become(false, now);
}

void LoadChoice::become(bool heavy, std::uint64_t now) noexcept {
  is_heavy_ = is_filling_ = heavy;
  since_ = now;
  behind_ = calm_ = 0;
}

void LoadChoice::fail_trial(std::uint64_t now) noexcept {
  pause_until_ = now + std::min(kShortestPause << std::min(failed_, 16U), kLongestPause);
  ++failed_;
  become(false, now);
}

}  // namespace penumbra::opportunistic
