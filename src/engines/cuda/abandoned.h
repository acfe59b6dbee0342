// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <tuple>
#include <utility>

#include "cuda/device.h"

namespace penumbra::cuda {

/// Whether a device comes in time to the end of what was given to its stream of copies, and to the last marks of the
/// other streams, so that it can be closed, which waits for that. False too if it fails for good.
inline bool comes_to_an_end(Device& device, unsigned copies, std::span<const unsigned> others,
                            std::chrono::milliseconds patience) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto reaches = [&](unsigned stream) {
    while (!device.reached(stream)) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  };
  try {
    device.mark(copies);
    return reaches(copies) && std::ranges::all_of(others, reaches);
  } catch (const DeviceError& error) {
    return !error.is_final();
  }
}

/// Keeps a device that was abandoned, and what it may still read and write, for good: until the process ends, nobody
/// can say when it has done with that.
template <class Kept, class... Memory>
void keep_for_good(std::unique_ptr<Kept> device, Memory... memory) {
  static std::mutex mutex;
  static auto* const kKept = new std::deque<std::tuple<std::unique_ptr<Kept>, Memory...>>();
  const std::lock_guard lock(mutex);
  kKept->emplace_back(std::move(device), std::move(memory)...);
}

}  // namespace penumbra::cuda
