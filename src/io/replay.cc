// SPDX-License-Identifier: Apache-2.0
#include "io/replay.h"

#include <rte_cycles.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <cstring>

#include "io/flow_spread.h"

namespace penumbra::io {
namespace {
constexpr std::uint64_t kEndless = UINT64_MAX;
}  // namespace

/// Cache-line aligned, as each has its own worker.
class alignas(64) Replay::Queue final : public RxQueue {
 public:
  /// Gives `frames` in turn, `left` packets altogether or kEndless.
  Queue(const std::uint8_t* bytes, std::vector<FrameEntry> frames, std::uint64_t left, RateLimiter& limiter)
      : bytes_(bytes), frames_(std::move(frames)), left_(left), limiter_(limiter) {}

  void use_pool(PacketPool pool) { pool_ = std::move(pool); }

  std::uint16_t receive(rte_mbuf** packets, std::uint16_t capacity) noexcept override {
    auto count = static_cast<std::uint16_t>(std::min<std::uint64_t>(capacity, left_));
    if (count == 0) return 0;
    if (limiter_.limited()) {
      count = limiter_.take(rte_get_tsc_cycles(), count);
      if (count == 0) return 0;
    }
    // A pool that is empty gives nothing now; the frames stay for the next time.
    if (rte_pktmbuf_alloc_bulk(pool_.get(), packets, count) != 0) return 0;
    for (std::uint16_t i = 0; i < count; ++i) fill(*packets[i]);
    if (left_ != kEndless) left_ -= count;
    return count;
  }

  void drain() noexcept override { left_ = 0; }
  bool exhausted() const noexcept override { return left_ == 0; }

 private:
  /// Frames ahead whose bytes are asked for; entries and bytes are read in order, which the hardware sees by itself
  /// within a page only.
  static constexpr std::size_t kAhead = 8;

  void fill(rte_mbuf& packet) noexcept {
    const FrameEntry& frame = frames_[next_];
    if (next_ + kAhead < frames_.size()) rte_prefetch0(bytes_ + frames_[next_ + kAhead].offset);
    // A frame that leaves no space for headroom does without.
    if (frame.size > packet.buf_len - std::uint32_t{packet.data_off}) packet.data_off = 0;
    std::memcpy(rte_pktmbuf_mtod(&packet, std::uint8_t*), bytes_ + frame.offset, frame.size);
    packet.data_len = static_cast<std::uint16_t>(frame.size);
    packet.pkt_len = frame.size;
    time_.set(packet, frame.nanoseconds);
    if (++next_ == frames_.size()) next_ = 0;
  }

  const std::uint8_t* bytes_;
  std::vector<FrameEntry> frames_;
  std::uint64_t left_;
  std::size_t next_ = 0;
  RateLimiter& limiter_;
  PacketPool pool_;
  MbufTime time_;
};

namespace {

/// How many of the first `packets` frames of the endless repetition of all frames fall to each queue.
std::vector<std::uint64_t> shares(const Frames& frames, const std::vector<std::vector<FrameEntry>>& parts,
                                  std::uint64_t packets) {
  std::vector<std::uint64_t> shares(parts.size());
  if (frames.entries.empty()) return shares;
  const std::uint64_t rounds = packets / frames.entries.size();
  for (std::size_t queue = 0; queue < parts.size(); ++queue) shares[queue] = rounds * parts[queue].size();
  for (std::size_t i = 0; i < packets % frames.entries.size(); ++i) {
    const FrameEntry& frame = frames.entries[i];
    ++shares[queue_of(frames.bytes.data() + frame.offset, frame.size, static_cast<std::uint16_t>(parts.size()))];
  }
  return shares;
}

}  // namespace

Replay::Replay(Frames frames, std::uint16_t queues, const ReplayPlan& plan)
    : largest_frame_(frames.largest()), limiter_(plan.rate.packets_per_second, static_cast<double>(rte_get_tsc_hz())) {
  std::vector<std::vector<FrameEntry>> parts = partition(frames, queues);
  const std::vector<std::uint64_t> share = shares(frames, parts, plan.packets);
  for (std::size_t queue = 0; queue < parts.size(); ++queue) {
    const std::uint64_t left = plan.endless && !parts[queue].empty() ? kEndless : share[queue];
    queues_.push_back(std::make_unique<Queue>(frames.bytes.data(), std::move(parts[queue]), left, limiter_));
  }
  bytes_ = std::move(frames.bytes);  // stays where it is
}

Replay::~Replay() = default;

RxQueue& Replay::queue(std::uint16_t index) {
  return *queues_[index];
}

void Replay::use_pool(const PacketPool& pool) {
  for (const auto& queue : queues_) queue->use_pool(pool);
}

void Replay::start() {
  limiter_.start(rte_get_tsc_cycles());
}

}  // namespace penumbra::io
