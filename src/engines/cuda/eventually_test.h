// SPDX-License-Identifier: Apache-2.0
//
// Waits for another thread in tests, with a time limit.
#pragma once

#include <chrono>
#include <thread>

namespace penumbra::cuda {

/// Returns true if the condition becomes true within a minute.
template <class Condition>
bool eventually(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace penumbra::cuda
