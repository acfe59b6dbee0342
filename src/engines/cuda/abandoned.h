// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

namespace penumbra::cuda {

/// Keeps a device that was abandoned, and what it may still read and write, for good: until the process ends, nobody
/// can say when it has done with that.
template <class Device, class... Memory>
void keep_for_good(std::unique_ptr<Device> device, Memory... memory) {
  static std::mutex mutex;
  static auto* const kKept = new std::deque<std::tuple<std::unique_ptr<Device>, Memory...>>();
  const std::lock_guard lock(mutex);
  kKept->emplace_back(std::move(device), std::move(memory)...);
}

}  // namespace penumbra::cuda
