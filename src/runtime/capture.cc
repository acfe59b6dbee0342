// SPDX-License-Identifier: Apache-2.0
#include "runtime/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace penumbra::runtime {

Captures::Captures(const Pipeline& pipeline, std::vector<std::string> ports, std::uint16_t workers,
                   GracePeriods& grace_periods)
    : pipeline_(pipeline), ports_(std::move(ports)), workers_(workers), grace_periods_(grace_periods) {}

Captures::~Captures() {
  finish();
}

void Captures::start(std::string_view what, std::span<const std::string> arguments, FileDescriptor& connection) {
  CaptureRequest request = parse_capture_request(what, arguments, pipeline_, ports_);
  std::vector<std::string> reasons;
  reasons.reserve(pipeline_.reasons().size());
  for (std::size_t i = 0; i < pipeline_.reasons().size(); ++i) {
    reasons.push_back(pipeline_.reason_name(static_cast<std::uint16_t>(i)));
  }
  const std::lock_guard lock(mutex_);
  if (finished_) throw std::runtime_error("the router ends");
  auto free = std::ranges::find_if(sessions_, [](const auto& each) { return each == nullptr || each->is_done(); });
  if (free == sessions_.end()) {
    throw std::runtime_error(fmt::format("{} captures run already, and that is as many as there can be", kMost));
  }
  Slot& slot = slots_[static_cast<std::size_t>(free - sessions_.begin())];
  auto session =
      std::make_unique<CaptureSession>(std::move(request), std::move(reasons), workers_, std::move(connection),
                                       [this, &slot](CaptureSession* shown) { expose(slot, shown); });
  session->start();
  *free = std::move(session);
}

void Captures::set_ports(std::vector<std::string> ports) {
  const std::lock_guard lock(mutex_);
  for (const auto& session : sessions_) {
    const auto port = session == nullptr ? std::nullopt : session->port();
    if (!port || !ports[*port].empty() || ports_[*port].empty()) continue;
    session->end(fmt::format("port '{}' was removed", ports_[*port]));
  }
  ports_ = std::move(ports);
}

void Captures::expose(Slot& slot, CaptureSession* session) {
  {
    const std::lock_guard lock(mutex_);
    slot.store(session, std::memory_order_release);
    const bool any = std::ranges::any_of(slots_, [](const Slot& each) { return each.load() != nullptr; });
    armed_.store(any, std::memory_order_relaxed);
  }
  constexpr std::chrono::milliseconds kNap{1};
  for (const std::uint64_t token = grace_periods_.start(); !grace_periods_.elapsed(token, false);) {
    std::this_thread::sleep_for(kNap);
  }
}

void Captures::finish() noexcept {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  for (const auto& session : sessions_) {
    if (session != nullptr) session->end();
  }
  for (auto& session : sessions_) session.reset();
}

void Captures::received(const Chunk& chunk) noexcept {
  for_each([&](CaptureSession& each) { each.received(chunk); });
}

void Captures::refused(std::uint16_t worker, const rte_mbuf& packet, Verdict verdict) noexcept {
  for_each([&](CaptureSession& each) { each.refused(worker, packet, verdict); });
}

void Captures::sending(std::uint16_t worker, std::uint16_t port, rte_mbuf* const* packets,
                       std::uint16_t count) noexcept {
  for_each([&](CaptureSession& each) { each.sending(worker, port, packets, count); });
}

void Captures::sent(std::uint16_t worker, std::uint16_t port, std::uint16_t taken) noexcept {
  for_each([&](CaptureSession& each) { each.sent(worker, port, taken); });
}

}  // namespace penumbra::runtime
