// SPDX-License-Identifier: Apache-2.0
//
// For tests: waiting for another thread, but not for ever.
#pragma once

#include <chrono>
#include <thread>

namespace penumbra::cuda {

/// Whether the condition comes to hold within a minute.
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
