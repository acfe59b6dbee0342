// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "penumbra/huge_memory.h"

namespace penumbra::cuda {

/// Waits until the device comes to the end of what was given to its stream of copies, and to the last marks of the
/// other streams: so that what then waits for these does not do so for ever. Throws what the device fails for, and a
/// final DeviceError if it takes longer than `patience`, or the GPU is lost.
inline void wait_for_the_end(Device& device, unsigned copies, std::span<const unsigned> others,
                             std::chrono::milliseconds patience) {
  device.throw_if_lost();
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto wait_for = [&](unsigned stream) {
    while (!device.reached(stream)) {
      if (std::chrono::steady_clock::now() > deadline) {
        throw DeviceError("what the GPU was given last has not come to its end in " + std::to_string(patience.count()) +
                              " ms; this program has to be started anew to use the GPU again",
                          true);
      }
      std::this_thread::yield();
    }
  };
  device.mark(copies);
  wait_for(copies);
  std::ranges::for_each(others, wait_for);
}

/// Whether it does, so that it can be closed; false too if it fails for good.
inline bool comes_to_an_end(Device& device, unsigned copies, std::span<const unsigned> others,
                            std::chrono::milliseconds patience) noexcept {
  try {
    wait_for_the_end(device, copies, others, patience);
  } catch (const DeviceError& error) {
    return !error.is_final();
  }
  return true;
}

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
