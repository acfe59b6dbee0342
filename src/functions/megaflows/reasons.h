// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace penumbra::megaflows {

/// Lists the reasons of the function, by index.
enum Outcome : std::uint16_t {
  kMissPunted,
  kMiss,
  kUnusualPunted,
  kDroppedByMegaflow,
  kTooLong,
  kNoBuffer,
  kPortDown,
  kMetered
};

}  // namespace penumbra::megaflows
