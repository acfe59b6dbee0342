// SPDX-License-Identifier: Apache-2.0
//
// What only this structure has: lines of runs, and where they lead on.
#include "shaders/ipv6_runs/ipv6_runs.h"

#include <gtest/gtest.h>

#include <memory>

#include "shaders/ipv6/ipv6_oracle.h"

namespace penumbra {

std::unique_ptr<Ipv6Lookup> ipv6_oracle::make_table(GracePeriods& grace_periods) {
  return std::make_unique<Ipv6Runs>(grace_periods);
}

}  // namespace penumbra
