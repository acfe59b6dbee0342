// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "penumbra/huge_memory.h"

namespace penumbra::cuda {

/// Keeps a device that was abandoned, and what it may still read and write, for good: until the process ends, nobody
/// can say when it has done with that. So it keeps what copies of its tables are read from.
template <class Kept, class Copies, class... Memory>
void keep_for_good(std::unique_ptr<Kept> device, const std::vector<Copies*>& tables, Memory... memory) {
  using Stagings = std::vector<std::shared_ptr<const HugeMemory>>;
  static std::mutex mutex;
  static auto* const kKept = new std::deque<std::tuple<std::unique_ptr<Kept>, Stagings, Memory...>>();
  Stagings stagings;
  for (const Copies* table : tables) stagings.push_back(table->staging());
  const std::lock_guard lock(mutex);
  kKept->emplace_back(std::move(device), std::move(stagings), std::move(memory)...);
}

}  // namespace penumbra::cuda
