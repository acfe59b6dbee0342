// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "penumbra/huge_memory.h"

namespace penumbra::offload {

/// Registers memory with the devices of all threads, until the result is destroyed. `threads` is a list of pointers to
/// device threads, which must outlive the result.
template <class Threads>
std::shared_ptr<void> register_with(const Threads& threads, const std::shared_ptr<const HugeMemory>& memory) {
  using Thread = typename Threads::value_type::element_type;
  using Shared = decltype(threads.front()->share(memory));
  struct Registration {
    std::vector<std::pair<Thread*, Shared>> of_threads;

    Registration() = default;
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration() {
      for (const auto& [thread, shared] : of_threads) thread->unshare(*shared);
    }
  };
  auto registration = std::make_shared<Registration>();
  for (const auto& thread : threads) registration->of_threads.emplace_back(thread.get(), thread->share(memory));
  return registration;
}

}  // namespace penumbra::offload
