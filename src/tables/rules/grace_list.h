// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "penumbra/table.h"

namespace penumbra {

/// Objects that new readers do not find any more, until no reader can hold them. An object that is added during a grace
/// period waits for the next one.
template <class Thing>
class GraceList {
 public:
  explicit GraceList(GracePeriods& grace_periods) : grace_periods_(grace_periods) {}

  bool empty() const { return waiting_.empty() && fresh_.empty(); }
  /// Adds an object that new readers do not find any more.
  void add(Thing thing) { fresh_.push_back(std::move(thing)); }
  /// Starts a grace period for the added objects unless one is in progress.
  void start() {
    if (!waiting_.empty() || fresh_.empty()) return;
    waiting_.swap(fresh_);
    period_ = grace_periods_.start();
  }
  /// Calls `visit` for objects that no reader can hold any more. If `wait`, waits until this is true of all objects.
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
  std::uint64_t period_ = 0;  ///< of the waiting objects
};

}  // namespace penumbra
