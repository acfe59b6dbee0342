// SPDX-License-Identifier: Apache-2.0
#include "functions/learning/learner.h"

#include <pthread.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>
#include <sys/epoll.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <system_error>

namespace penumbra {
namespace {

/// Allocates a ring in ordinary memory, because functions are created before the EAL exists.
rte_ring* make_learning_ring(std::size_t capacity, std::uint32_t event_bytes) {
  const auto slots = static_cast<unsigned>(std::bit_ceil(capacity + 1));
  const auto bytes = rte_ring_get_memsize_elem(event_bytes, slots);
  if (bytes < 0) throw std::bad_alloc();
  auto* ring = static_cast<rte_ring*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, static_cast<std::size_t>(bytes)));
  if (ring == nullptr) throw std::bad_alloc();
  rte_ring_init(ring, "learning", slots, RING_F_SP_ENQ | RING_F_SC_DEQ);
  return ring;
}

}  // namespace

void LearnerOfBytes::Free::operator()(rte_ring* ring) const {
  std::free(ring);
}

LearnerOfBytes::LearnerOfBytes(std::string name, std::size_t workers, std::size_t capacity, std::size_t event_bytes,
                               std::chrono::milliseconds turn, Take take)
    : name_(std::move(name)),
      event_bytes_(static_cast<std::uint32_t>(event_bytes)),
      turn_(turn),
      take_(std::move(take)),
      events_(kMost * event_bytes / sizeof(std::uint32_t)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "cannot make an epoll set");
  bell_.join(epoll_);
  for (std::size_t i = 0; i < workers; ++i) rings_.emplace_back(make_learning_ring(capacity, event_bytes_));
}

LearnerOfBytes::~LearnerOfBytes() {
  thread_.request_stop();
  bell_.ring();
  if (thread_.joinable()) thread_.join();
}

void LearnerOfBytes::start() {
  if (thread_.joinable()) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

bool LearnerOfBytes::report(std::size_t worker, const void* event) noexcept {
  if (rte_ring_sp_enqueue_burst_elem(rings_[worker].get(), event, event_bytes_, 1, nullptr) == 0) return false;
  bell_.ring();
  return true;
}

void LearnerOfBytes::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), name_.c_str());
  auto next_turn = std::chrono::steady_clock::now();
  for (;;) {
    const bool last = stop.stop_requested();  // read before the rings: no event follows after a stop request
    const bool took = take();
    if (last && !took) return;
    if (const auto now = std::chrono::steady_clock::now(); now >= next_turn) {
      take_(nullptr, 0);
      next_turn = now + turn_;
    }
    if (!took && !last) sleep();
  }
}

bool LearnerOfBytes::take() {
  bool took = false;
  for (const auto& ring : rings_) {
    const unsigned count = rte_ring_sc_dequeue_burst_elem(ring.get(), events_.data(), event_bytes_, kMost, nullptr);
    if (count == 0) continue;
    take_(events_.data(), count);
    took = true;
  }
  return took;
}

bool LearnerOfBytes::is_empty() const {
  return std::ranges::all_of(rings_, [](const auto& ring) { return rte_ring_empty(ring.get()) != 0; });
}

void LearnerOfBytes::sleep() {
  bell_.listen();
  epoll_event event{};
  if (is_empty()) epoll_wait(epoll_.get(), &event, 1, static_cast<int>(turn_.count()));
  bell_.ignore();
}

}  // namespace penumbra
