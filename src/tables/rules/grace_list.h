// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "penumbra/table.h"

namespace penumbra {

/// Things that readers come upon no more, until none can hold them. Nobody waits for that: what comes while one grace
/// period is under way waits for the next one.
template <class Thing>
class GraceList {
 public:
  explicit GraceList(GracePeriods& grace_periods) : grace_periods_(grace_periods) {}

  bool empty() const { return waiting_.empty() && fresh_.empty(); }
  /// Readers come upon it no more.
  void add(Thing thing) { fresh_.push_back(std::move(thing)); }
  /// Starts a grace period for what was added, if none is under way.
  void start() {
    if (!waiting_.empty() || fresh_.empty()) return;
    waiting_.swap(fresh_);
    period_ = grace_periods_.start();
  }
  /// Gives what nobody can hold any more; with `wait`, everything.
  template <class Visit>
  void take(Visit visit, bool wait = false) {
    start();
    while (!waiting_.empty() && grace_periods_.elapsed(period_, wait)) {
      for (Thing& each : waiting_) visit(each);
      waiting_.clear();
      start();
    }
  }

 private:
  GracePeriods& grace_periods_;
  std::vector<Thing> fresh_, waiting_;
  std::uint64_t period_ = 0;  ///< of those that wait
};

}  // namespace penumbra
