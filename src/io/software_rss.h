// SPDX-License-Identifier: Apache-2.0
//
// Implements receive side scaling for devices without it or with fewer queues than workers. The worker that polls the
// device hashes each packet's flow, and passes other workers' packets on. Each pair of workers has its own ring. A flow
// therefore stays in order on one worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "io/port.h"

namespace penumbra::io {

/// Queues for `inputs.size()` workers. Worker q polls inputs[q]. If inputs[q] is null, worker q receives only packets
/// that others pass.
class SoftwareRss {
 public:
  /// `name` must be unique among the rings of this process. Throws std::runtime_error if memory is short. The EAL must
  /// be running.
  SoftwareRss(const std::string& name, std::vector<std::unique_ptr<RxQueue>> inputs);
  SoftwareRss(const SoftwareRss&) = delete;
  SoftwareRss& operator=(const SoftwareRss&) = delete;
  ~SoftwareRss();

  std::uint16_t queues() const { return static_cast<std::uint16_t>(queues_.size()); }
  RxQueue& queue(std::uint16_t index);
  /// Returns the packets dropped because a ring was full. Any thread.
  Loss loss() const noexcept;
  /// Frees the packets in the rings. No worker may use the queues meanwhile.
  void clear() noexcept;

 private:
  class Queue;

  std::atomic<bool> draining_{false};
  std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace penumbra::io
