// SPDX-License-Identifier: Apache-2.0
//
// Receive side scaling where the device has none, or has fewer queues than there are workers. The worker that polls the
// device hashes each packet's flow and passes what is another worker's through a ring that only these two use, so that
// a flow stays on one worker and in order.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "io/port.h"

namespace penumbra::io {

/// Queues for `inputs.size()` workers. Worker q polls inputs[q], which may be null: it then lives on what others pass.
class SoftwareRss {
 public:
  /// `name` is unique among the rings of this process. Throws std::runtime_error for want of memory. The EAL must run.
  SoftwareRss(const std::string& name, std::vector<std::unique_ptr<RxQueue>> inputs);
  SoftwareRss(const SoftwareRss&) = delete;
  SoftwareRss& operator=(const SoftwareRss&) = delete;
  ~SoftwareRss();

  std::uint16_t queues() const { return static_cast<std::uint16_t>(queues_.size()); }
  RxQueue& queue(std::uint16_t index);
  /// What full rings refused. Any thread.
  Loss loss() const noexcept;
  /// Frees what waits in the rings. No worker may be at it.
  void clear() noexcept;

 private:
  class Queue;

  std::atomic<bool> draining_{false};
  std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace penumbra::io
