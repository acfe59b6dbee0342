// SPDX-License-Identifier: Apache-2.0
//
// `capture`: packets as the running router receives, sends or drops them, copied for those who ask. While nobody asks
// it costs a worker one relaxed load a chunk. A capture never holds up a packet: what it has no room for it loses, and
// counts.
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
  static constexpr std::size_t kMost = 8;  ///< at the same time

  /// `grace_periods` are the workers'.
  Captures(const Pipeline& pipeline, std::vector<std::string> ports, std::uint16_t workers,
           GracePeriods& grace_periods);
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;
  ~Captures();

  /// Begins a capture (capture_request.h has the words), and takes the connection, over which capture_session.h says
  /// what comes. Throws std::invalid_argument for a request that is wrong, std::runtime_error if there can be no
  /// capture now, the connection as it was. Any thread.
  void start(std::string_view what, std::span<const std::string> arguments, FileDescriptor& connection);
  /// The run has ended: each capture hands over what it has, and ends. No worker may run any more.
  void finish() noexcept;

  /// There are other ports, by place; a port that was removed has no name. Captures of removed ports end. No worker
  /// works meanwhile, and nobody asks.
  void set_ports(std::vector<std::string> ports);

  bool armed() const noexcept { return armed_.load(std::memory_order_relaxed); }

  // For workers, while armed(), in the turn of their loop to which the packets belong:
  void received(const Chunk& chunk) noexcept;
  void refused(std::uint16_t worker, const rte_mbuf& packet, Verdict verdict) noexcept;
  void sending(std::uint16_t worker, std::uint16_t port, rte_mbuf* const* packets, std::uint16_t count) noexcept;
  void sent(std::uint16_t worker, std::uint16_t port, std::uint16_t taken) noexcept;

 private:
  /// A capture has one for as long as workers know of it.
  using Slot = std::atomic<CaptureSession*>;

  /// By the session's own thread: what workers find in `slot`; returns when each of them goes by that.
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
  std::mutex mutex_;  ///< of what follows, and for changes of armed_ and slots_
  std::array<std::unique_ptr<CaptureSession>, kMost> sessions_;
  bool finished_ = false;
};

}  // namespace penumbra::runtime
