// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/random.h"
#include "penumbra/huge_memory.h"

namespace penumbra::bench {

/// Measures how fast this machine does constant work at present. Other programs on it, or on the host of a virtual
/// machine, change that within minutes, and with it every figure. The rounds of one comparison follow each other at
/// once and do not show this variation between runs.
class PaceMeter {
 public:
  /// Allocates a GiB, more than caches hold. Throws std::system_error.
  PaceMeter();

  /// Measures with the calling thread, in about a tenth of a second. `memory` is million cache lines per second at
  /// random addresses, with many prefetches in flight and other lines each time. `core` is million dependent
  /// multiplications per second.
  nlohmann::json now();

 private:
  double memory();
  static double core();

  HugeMemory memory_;
  Random random_{1};
};

}  // namespace penumbra::bench
