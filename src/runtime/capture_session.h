// SPDX-License-Identifier: Apache-2.0
//
// Implements one active capture: the buffers into which workers copy, and the thread that sends to the client.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "io/mbuf_time.h"
#include "penumbra/chunk.h"
#include "runtime/capture_request.h"
#include "runtime/capture_ring.h"
#include "runtime/counters.h"
#include "runtime/unix_socket.h"

namespace penumbra::runtime {

/// Serves one capture over a connection: the answer line of a success, then frames. A frame is its length, 4 bytes in
/// host order, and that many bytes of whole capture records (io::CaptureRecord with its data). A frame of no bytes is
/// the last frame. After the last frame comes a line {"captured": N, "lost": N, "reasons": {NAME: N}}. "captured"
/// counts packets handed over, "lost" packets that matched and found no room. "reasons" counts dropped and punted
/// packets by reason. "ended" is a sentence and says why the capture ended before the router.
class CaptureSession {
 public:
  /// After the end of the router, an unresponsive client gets this much time.
  static constexpr std::chrono::seconds kPatience{5};

  /// Makes a session visible to the workers, or hides it (null). Returns when all workers use the new value.
  using Expose = std::function<void(CaptureSession*)>;

  /// The session's thread calls `expose` twice: before it announces the start to the client, and after the end.
  CaptureSession(CaptureRequest request, std::vector<std::string> reason_names, std::uint16_t workers,
                 FileDescriptor connection, Expose expose);
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;
  /// Ends the capture like end() and waits for its thread.
  ~CaptureSession();

  // The following functions are for the worker, with its own packets.
  void received(const Chunk& chunk) noexcept;
  void refused(std::uint16_t worker, const rte_mbuf& packet, Verdict verdict) noexcept;
  /// Copies packets before the port gets them. The following sent() reports how many of the packets the port took. The
  /// port always takes the first ones.
  void sending(std::uint16_t worker, std::uint16_t port, rte_mbuf* const* packets, std::uint16_t count) noexcept;
  void sent(std::uint16_t worker, std::uint16_t port, std::uint16_t taken) noexcept;

  /// Starts the session's thread.
  void start();
  /// Ends the capture because the router ends. The client gets the remaining packets and the report.
  void end() noexcept { ended_.store(true, std::memory_order_release); }
  /// Ends the capture for `reason`, which the report contains. Does nothing if the capture is ending already. One
  /// thread at a time.
  void end(std::string reason);
  /// Returns the place of the port whose packets are captured, or nothing for a capture of drops.
  std::optional<std::uint16_t> port() const {
    return request_.received || request_.sent ? std::optional(request_.port) : std::nullopt;
  }
  /// True if the session's thread has nothing more to do.
  bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }

 private:
  static constexpr std::uint16_t kNoReason = 0xFFFF;

  /// Precedes a packet's bytes in a ring.
  struct Head {
    std::uint64_t nanoseconds;
    std::uint32_t wire_bytes;
    std::uint16_t reason;
    std::uint16_t padding;
  };
  /// Holds one worker's records.
  struct alignas(64) WorkerBuffer {
    CaptureRing ring;
    Counter lost;
    std::array<std::uint64_t, Chunk::kCapacity + 1> marks{};   ///< Position of the ring before each packet of a burst.
    std::array<std::uint16_t, Chunk::kCapacity + 1> losses{};  ///< Lost packets of the burst, before each packet.
    std::uint16_t pending = 0;                                 ///< Packets of a burst between sending() and sent().
  };

  /// Copies the packet if it is selected. Returns false if there was no room.
  bool copy(WorkerBuffer& buffer, const rte_mbuf& packet, std::uint64_t now, std::uint16_t reason) noexcept;

  // The following functions are for the session's thread.
  void run() noexcept;
  void stream();
  /// Sends the records that are available. Returns true if there were any.
  bool drain();
  WorkerBuffer* oldest();
  void take(WorkerBuffer& buffer);
  bool enough() const { return request_.packets != 0 && captured_ == request_.packets; }
  bool wants_end();
  void send_frame();
  void send_all(const void* bytes, std::size_t count);
  std::string report() const;

  const CaptureRequest request_;
  const std::vector<std::string> reason_names_;
  const io::MbufTime time_;
  std::vector<std::unique_ptr<WorkerBuffer>> buffers_;  ///< By worker.
  FileDescriptor connection_;
  const Expose expose_;
  std::atomic<bool> ended_{false}, done_{false};
  std::string end_reason_;  ///< written before `ended_`
  bool client_ends_ = false;
  std::vector<std::uint8_t> frame_;
  std::uint64_t captured_ = 0;
  std::vector<std::uint64_t> by_reason_;
  std::jthread thread_;
};

}  // namespace penumbra::runtime
