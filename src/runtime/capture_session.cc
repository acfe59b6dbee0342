// SPDX-License-Identifier: Apache-2.0
#include "runtime/capture_session.h"

#include <poll.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "io/capture_writer.h"
#include "runtime/control_request.h"

namespace penumbra::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNapMilliseconds = 10;  // Interval between checks of empty rings.
// Threshold for sending; a frame may exceed it by one packet.
constexpr std::size_t kFrameBytes = std::size_t{1} << 18;

std::uint64_t wall_clock() noexcept {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(since_1970).count());
}

}  // namespace

CaptureSession::CaptureSession(CaptureRequest request, std::vector<std::string> reason_names, std::uint16_t workers,
                               FileDescriptor connection, Expose expose)
    : request_(std::move(request)),
      reason_names_(std::move(reason_names)),
      connection_(std::move(connection)),
      expose_(std::move(expose)),
      by_reason_(reason_names_.size()) {
  for (std::uint16_t i = 0; i < workers; ++i) buffers_.push_back(std::make_unique<WorkerBuffer>());
}

CaptureSession::~CaptureSession() {
  end();
}

bool CaptureSession::copy(WorkerBuffer& buffer, const rte_mbuf& packet, std::uint64_t now,
                          std::uint16_t reason) noexcept {
  if (request_.filter != nullptr && !request_.filter->matches(packet)) return true;
  const std::uint32_t wire_bytes = rte_pktmbuf_pkt_len(&packet), bytes = std::min(wire_bytes, request_.bytes);
  const Head head{time_.has(packet) ? time_.get(packet) : now, wire_bytes, reason, 0};
  std::uint8_t* const room = buffer.ring.reserve(static_cast<std::uint32_t>(sizeof head) + bytes);
  if (room == nullptr) return false;
  std::memcpy(room, &head, sizeof head);
  const void* content = rte_pktmbuf_read(&packet, 0, bytes, room + sizeof head);
  if (content != room + sizeof head) std::memcpy(room + sizeof head, content, bytes);
  return true;
}

void CaptureSession::received(const Chunk& chunk) noexcept {
  if (!request_.received || chunk.rx_port != request_.port) return;
  WorkerBuffer& buffer = *buffers_[chunk.worker];
  const std::uint64_t now = wall_clock();
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    if (!copy(buffer, *chunk.packets[i], now, kNoReason)) buffer.lost.add(1);
  }
  buffer.ring.publish(buffer.ring.reserved());
}

void CaptureSession::refused(std::uint16_t worker, const rte_mbuf& packet, Verdict verdict) noexcept {
  if (!(verdict.kind == Verdict::Kind::punt ? request_.punted : request_.dropped)) return;
  if (request_.reason && *request_.reason != verdict.value) return;
  WorkerBuffer& buffer = *buffers_[worker];
  if (!copy(buffer, packet, wall_clock(), verdict.value)) buffer.lost.add(1);
  buffer.ring.publish(buffer.ring.reserved());
}

void CaptureSession::sending(std::uint16_t worker, std::uint16_t port, rte_mbuf* const* packets,
                             std::uint16_t count) noexcept {
  if (!request_.sent || port != request_.port) return;
  WorkerBuffer& buffer = *buffers_[worker];
  const std::uint64_t now = wall_clock();
  buffer.marks[0] = buffer.ring.reserved();
  buffer.losses[0] = 0;
  for (std::uint16_t i = 0; i < count; ++i) {
    const bool fits = copy(buffer, *packets[i], now, kNoReason);
    buffer.losses[i + 1] = static_cast<std::uint16_t>(buffer.losses[i] + (fits ? 0 : 1));
    buffer.marks[i + 1] = buffer.ring.reserved();
  }
  buffer.pending = count;
}

void CaptureSession::sent(std::uint16_t worker, std::uint16_t port, std::uint16_t taken) noexcept {
  if (!request_.sent || port != request_.port) return;
  WorkerBuffer& buffer = *buffers_[worker];
  if (buffer.pending == 0) return;  // The capture began between sending() and sent().
  buffer.pending = 0;
  buffer.lost.add(buffer.losses[taken]);
  buffer.ring.publish(buffer.marks[taken]);
}

void CaptureSession::end(std::string reason) {
  if (ended_.load(std::memory_order_relaxed)) return;
  end_reason_ = std::move(reason);
  end();
}

void CaptureSession::start() {
  thread_ = std::jthread([this] { run(); });
}

void CaptureSession::run() noexcept {
  try {
    stream();
  } catch (const std::exception&) {
    // The client has gone or does not read, so it cannot be notified.
    connection_ = FileDescriptor();
  }
  done_.store(true, std::memory_order_release);
}

void CaptureSession::stream() {
  struct Exposed {
    CaptureSession* session;
    explicit Exposed(CaptureSession* shown) : session(shown) { session->expose_(session); }
    Exposed(const Exposed&) = delete;
    Exposed& operator=(const Exposed&) = delete;
    void end() {
      if (auto* shown = std::exchange(session, nullptr); shown != nullptr) shown->expose_(nullptr);
    }
    ~Exposed() { end(); }
  } exposed(this);
  const std::string line = success_line(nlohmann::ordered_json::object()) + "\n";
  send_all(line.data(), line.size());
  while (!enough() && !wants_end()) {
    if (drain()) continue;
    pollfd polled{connection_.get(), static_cast<short>(client_ends_ ? 0 : POLLIN), 0};
    ::poll(&polled, 1, kNapMilliseconds);
  }
  exposed.end();
  while (drain()) {
  }
  send_frame();
  const std::string last = report();
  send_all(last.data(), last.size());
}

bool CaptureSession::wants_end() {
  std::array<char, 64> bytes{};
  const ssize_t count = ::recv(connection_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  client_ends_ = client_ends_ || count == 0;
  return client_ends_ || ended_.load(std::memory_order_acquire);
}

bool CaptureSession::drain() {
  for (WorkerBuffer* buffer = nullptr; frame_.size() < kFrameBytes && !enough() && (buffer = oldest()) != nullptr;)
    take(*buffer);
  if (frame_.empty()) return false;
  send_frame();
  return true;
}

/// Returns the buffer with the earliest packet, so that packets of several workers come out nearly in order of time.
CaptureSession::WorkerBuffer* CaptureSession::oldest() {
  WorkerBuffer* first = nullptr;
  std::uint64_t earliest = 0;
  for (const auto& buffer : buffers_) {
    const auto record = buffer->ring.front();
    if (record.empty()) continue;
    Head head{};
    std::memcpy(&head, record.data(), sizeof head);
    if (first != nullptr && head.nanoseconds >= earliest) continue;
    first = buffer.get();
    earliest = head.nanoseconds;
  }
  return first;
}

void CaptureSession::take(WorkerBuffer& buffer) {
  const auto stored = buffer.ring.front();
  Head head{};
  std::memcpy(&head, stored.data(), sizeof head);
  const auto packet = stored.subspan(sizeof head);
  const auto record = io::CaptureRecord::of(head.nanoseconds, packet.size(), head.wire_bytes);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&record);
  frame_.insert(frame_.end(), bytes, bytes + sizeof record);
  frame_.insert(frame_.end(), packet.begin(), packet.end());
  buffer.ring.pop();
  ++captured_;
  if (head.reason != kNoReason) ++by_reason_[head.reason];
}

void CaptureSession::send_frame() {
  const auto size = static_cast<std::uint32_t>(frame_.size());
  send_all(&size, sizeof size);
  send_all(frame_.data(), frame_.size());
  frame_.clear();
}

/// Sends without a time limit while the router runs. Meanwhile the rings fill, and only the capture loses packets.
void CaptureSession::send_all(const void* bytes, std::size_t count) {
  const auto* rest = static_cast<const char*>(bytes);
  Clock::time_point deadline = Clock::time_point::max();
  while (count > 0) {
    const ssize_t sent = ::send(connection_.get(), rest, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      rest += sent;
      count -= static_cast<std::size_t>(sent);
      continue;
    }
    if (sent < 0 && errno != EAGAIN && errno != EINTR) throw std::system_error(errno, std::generic_category());
    if (ended_.load(std::memory_order_relaxed)) deadline = std::min(deadline, Clock::now() + kPatience);
    if (Clock::now() >= deadline) throw std::system_error(ETIMEDOUT, std::generic_category());
    pollfd polled{connection_.get(), POLLOUT, 0};
    ::poll(&polled, 1, kNapMilliseconds);
  }
}

std::string CaptureSession::report() const {
  std::uint64_t lost = 0;
  for (const auto& buffer : buffers_) lost += buffer->lost.get();
  auto reasons = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < by_reason_.size(); ++i) {
    if (by_reason_[i] != 0) reasons[reason_names_[i]] = by_reason_[i];
  }
  nlohmann::ordered_json report{{"captured", captured_}, {"lost", lost}, {"reasons", reasons}};
  if (ended_.load(std::memory_order_acquire) && !end_reason_.empty()) report["ended"] = end_reason_;
  return report.dump() + "\n";
}

}  // namespace penumbra::runtime
