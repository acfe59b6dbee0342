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

/// Keeps an abandoned device, and the memory that it may still access, until the process ends. A GPU in this state may
/// access memory at any time. The staging memory of the table copies is therefore kept too. May be called on any
/// thread.
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
