// SPDX-License-Identifier: Apache-2.0
#include "control/fpm/resync.h"

#include <utility>

namespace penumbra::control::fpm {

void Resync::connected(Clock::time_point now, std::size_t stale) {
  connected_ = true;
  reported_everything_ = false;
  stale_ = stale;
  last_reported_again_ = now;
}

void Resync::lost(Clock::time_point now) {
  connected_ = false;
  overdue_ = hold_until_ && now >= *hold_until_;
  if (!hold_until_ || overdue_) hold_until_ = now + hold_;
}

Resync::Due Resync::due(Clock::time_point now, std::size_t stale) {
  if (std::exchange(overdue_, false)) return Due::sweep;
  if (!connected_) {
    if (!hold_until_ || now < *hold_until_) return Due::nothing;
    hold_until_.reset();
    return Due::withdraw;
  }
  if (reported_everything_) return Due::nothing;
  if (stale < stale_) last_reported_again_ = now;
  stale_ = stale;
  if (stale > 0 && now < last_reported_again_ + settle_) return Due::nothing;
  reported_everything_ = true;
  hold_until_.reset();
  return Due::sweep;
}

}  // namespace penumbra::control::fpm
