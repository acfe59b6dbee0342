// SPDX-License-Identifier: Apache-2.0
//
// Chooses a GPU near a worker.
#pragma once

#include <cstddef>
#include <span>

#include "base/numa.h"

namespace penumbra::cuda {

/// Returns the index of the device for a worker on `node`. The device is the first with the fewest queues, among the
/// devices on that node; if there are none, among all.
std::size_t nearest(std::span<const int> nodes, std::span<const unsigned> queues, int node);

}  // namespace penumbra::cuda
