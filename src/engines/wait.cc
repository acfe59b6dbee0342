// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <algorithm>
#include <chrono>

#include "penumbra/engine.h"

namespace penumbra {

Batch* EngineQueue::wait(std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + timeout;
  for (;;) {
    if (Batch* const batch = poll(); batch != nullptr) return batch;
    pollfd event{.fd = wake_descriptor(), .events = POLLIN, .revents = 0};
    if (event.fd < 0) return nullptr;
    if (Batch* const batch = poll(); batch != nullptr) return batch;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return nullptr;
    ::poll(&event, 1, static_cast<int>(std::min<std::int64_t>(left, INT32_MAX)));
  }
}

}  // namespace penumbra
