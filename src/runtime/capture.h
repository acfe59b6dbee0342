// SPDX-License-Identifier: Apache-2.0
//
// Serves `capture`: copies of the packets that the running router receives, sends or drops. While there is no capture,
// it costs a worker one relaxed load per chunk. A capture never delays a packet: packets without room in its buffers
// are lost to the capture and counted.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/chunk.h"
#include "runtime/capture_session.h"

namespace penumbra::runtime {

class Captures {
 public:
  static constexpr std::size_t kMost = 8;  ///< Maximum number of concurrent captures.

  /// `grace_periods` are those of the workers.
  Captures(const Pipeline& pipeline, std::vector<std::string> ports, std::uint16_t workers,
           GracePeriods& grace_periods);
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;
  ~Captures();

  /// Begins a capture (see capture_request.h for the words) and takes the connection, to which it writes the format of
  /// capture_session.h. Throws std::invalid_argument for a wrong request and std::runtime_error if no capture is
  /// possible now; both leave the connection unchanged. Any thread may call it.
  void start(std::string_view what, std::span<const std::string> arguments, FileDescriptor& connection);
  /// Ends all captures after the run. Each capture sends its remaining packets. All workers must have ended.
  void finish() noexcept;

  /// Replaces the names of the ports, by place; a removed port has no name. Ends captures of removed ports. Call while
  /// the workers are stopped and no thread reads the ports.
  void set_ports(std::vector<std::string> ports);

  bool armed() const noexcept { return armed_.load(std::memory_order_relaxed); }

  // The following functions are for workers, while armed(), in the turn of their loop to which the packets belong.
  void received(const Chunk& chunk) noexcept;
  void refused(std::uint16_t worker, const rte_mbuf& packet, Verdict verdict) noexcept;
  void sending(std::uint16_t worker, std::uint16_t port, rte_mbuf* const* packets, std::uint16_t count) noexcept;
  void sent(std::uint16_t worker, std::uint16_t port, std::uint16_t taken) noexcept;

 private:
  /// A capture occupies a slot while workers can use it.
  using Slot = std::atomic<CaptureSession*>;

  /// Stores `session` in `slot`. Returns when no worker uses the previous value any more. Called on the session's own
  /// thread.
  void expose(Slot& slot, CaptureSession* session);
  void for_each(auto action) noexcept {
    for (auto& slot : slots_) {
      if (CaptureSession* session = slot.load(std::memory_order_acquire); session != nullptr) action(*session);
    }
  }

  const Pipeline& pipeline_;
  std::vector<std::string> ports_;
  const std::uint16_t workers_;
  GracePeriods& grace_periods_;
  std::atomic<bool> armed_{false};
  std::array<Slot, kMost> slots_{};
  std::mutex mutex_;  ///< Guards the members below and changes of armed_ and slots_.
  std::array<std::unique_ptr<CaptureSession>, kMost> sessions_;
  bool finished_ = false;
};

}  // namespace penumbra::runtime
