// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/random.h"
#include "penumbra/huge_memory.h"

namespace penumbra::bench {

/// How much of work that is always the same this machine gets done now. Other programs on it, or beside a virtual one,
/// make that differ from minute to minute, and with it whatever is measured: how far runs may lie apart for that reason
/// alone is not to be seen from the rounds of one comparison, which follow each other at once.
class PaceMeter {
 public:
  /// Takes a GiB, more than caches hold. Throws std::system_error.
  PaceMeter();

  /// Of the calling thread, in a tenth of a second or so: `memory`, million cache lines a second at random places of
  /// that memory, other ones each time, many asked for at a time; `core`, million multiplications a second, each of the
  /// last one's result.
  nlohmann::json now();

 private:
  double memory();
  static double core();

  HugeMemory memory_;
  Random random_{1};
};

}  // namespace penumbra::bench
