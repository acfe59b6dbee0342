// SPDX-License-Identifier: Apache-2.0
//
// One capture at work: what workers copy into it, and the thread that hands it to the client.
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

/// What goes over the connection: the answer line of a success, then frames. A frame is its length as
/// 4 bytes in the machine's order and so many bytes of whole capture records (io::CaptureRecord with its data). A frame
/// of no bytes is the last one; after it comes a line {"captured": N, "lost": N, "reasons": {NAME: N, ...}}: packets
/// handed over, packets that matched and found no room, and of dropped and punted ones how many for which reason. The
/// line has "ended", a sentence, if the capture could not go on although the router does.
class CaptureSession {
 public:
  /// So long a client that takes nothing is waited for once the router ends.
  static constexpr std::chrono::seconds kPatience{5};

  /// Gives a session to the workers, or takes it away (null), and returns when all of them go by that.
  using Expose = std::function<void(CaptureSession*)>;

  /// `expose` is called by the session's thread: before it tells the client that the capture has begun, and when it has
  /// ended.
  CaptureSession(CaptureRequest request, std::vector<std::string> reason_names, std::uint16_t workers,
                 FileDescriptor connection, Expose expose);
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;
  /// Ends it, as end() does, and waits for its thread.
  ~CaptureSession();

  // For the worker, with packets of its own:
  void received(const Chunk& chunk) noexcept;
  void refused(std::uint16_t worker, const rte_mbuf& packet, Verdict verdict) noexcept;
  /// Copies packets before they are given away; sent() then says how many of them, always the first ones, were taken.
  void sending(std::uint16_t worker, std::uint16_t port, rte_mbuf* const* packets, std::uint16_t count) noexcept;
  void sent(std::uint16_t worker, std::uint16_t port, std::uint16_t taken) noexcept;

  /// Starts its thread.
  void start();
  /// The router ends: what is there goes to the client, and the report.
  void end() noexcept { ended_.store(true, std::memory_order_release); }
  /// Ends it likewise for another reason, which the report tells, unless it ends already. One thread at a time.
  void end(std::string reason);
  /// The place of the port whose packets it has; nothing if they are those of all ports.
  std::optional<std::uint16_t> port() const {
    return request_.received || request_.sent ? std::optional(request_.port) : std::nullopt;
  }
  /// Its thread has nothing more to do.
  bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }

 private:
  static constexpr std::uint16_t kNoReason = 0xFFFF;

  /// What stands before a packet's bytes in a ring.
  struct Head {
    std::uint64_t nanoseconds;
    std::uint32_t wire_bytes;
    std::uint16_t reason;
    std::uint16_t padding;
  };
  /// One worker's way in.
  struct alignas(64) WorkerBuffer {
    CaptureRing ring;
    Counter lost;
    std::array<std::uint64_t, Chunk::kCapacity + 1> marks{};   ///< where the ring stood before each packet of a burst
    std::array<std::uint16_t, Chunk::kCapacity + 1> losses{};  ///< of that burst, before each packet
    std::uint16_t pending = 0;                                 ///< packets of a burst between sending() and sent()
  };

  /// Whether there was room, or the packet is not wanted.
  bool copy(WorkerBuffer& buffer, const rte_mbuf& packet, std::uint64_t now, std::uint16_t reason) noexcept;

  // The thread's:
  void run() noexcept;
  void stream();
  /// Sends what is there now; whether there was anything.
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
  std::vector<std::unique_ptr<WorkerBuffer>> buffers_;  ///< by worker
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
