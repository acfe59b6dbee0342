// SPDX-License-Identifier: Apache-2.0
#include "io/replay.h"

#include <rte_cycles.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "io/flow_spread.h"

namespace penumbra::io {
namespace {

constexpr std::uint64_t kEndless = UINT64_MAX;

/// Maximum number of frames, over all queues, that a queue may be ahead of the slowest queue, rounded up to whole
/// rounds. Short captures need several rounds of slack. Otherwise each receive() would return only a few packets.
constexpr std::uint64_t kMostAhead = 4096;

}  // namespace

/// Aligned to a cache line, because each queue has its own worker.
class alignas(64) Replay::Queue final : public RxQueue {
 public:
  /// Returns `frames` in turn: `left` packets in total, or kEndless.
  Queue(const std::uint8_t* bytes, std::vector<FrameEntry> frames, std::uint64_t left, RateLimiter& limiter)
      : bytes_(bytes), frames_(std::move(frames)), left_(left), limiter_(limiter) {}

  void use_pool(PacketPool pool) { pool_ = std::move(pool); }

  /// Keeps this queue at most `slack` rounds ahead of the slowest of `peers`, which must outlive it.
  void keep_in_step(std::vector<const Queue*> peers, std::uint64_t slack) {
    peers_ = std::move(peers);
    slack_ = slack;
    last_round_ = slack;
  }

  std::uint16_t receive(rte_mbuf** packets, std::uint16_t capacity) noexcept override {
    auto count = static_cast<std::uint16_t>(std::min<std::uint64_t>(capacity, left_));
    if (!peers_.empty()) count = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, left_in_step(count)));
    if (count == 0) return 0;
    if (limiter_.limited()) {
      count = limiter_.take(rte_get_tsc_cycles(), count);
      if (count == 0) return 0;
    }
    // If the pool is empty, the frames stay for the next call.
    if (rte_pktmbuf_alloc_bulk(pool_.get(), packets, count) != 0) return 0;
    for (std::uint16_t i = 0; i < count; ++i) fill(*packets[i]);
    if (rounds_ != published_rounds_.load(std::memory_order_relaxed)) {
      published_rounds_.store(rounds_, std::memory_order_relaxed);
    }
    if (left_ != kEndless) left_ -= count;
    return count;
  }

  void drain() noexcept override { left_ = 0; }
  bool exhausted() const noexcept override { return left_ == 0; }

 private:
  /// Prefetch distance in frames. Entries and bytes are read in order, but the hardware prefetcher stops at page
  /// boundaries.
  static constexpr std::size_t kAhead = 8;

  void fill(rte_mbuf& packet) noexcept {
    const FrameEntry& frame = frames_[next_];
    if (next_ + kAhead < frames_.size()) rte_prefetch0(bytes_ + frames_[next_ + kAhead].offset);
    // A frame without space for headroom gets none.
    if (frame.size > packet.buf_len - std::uint32_t{packet.data_off}) packet.data_off = 0;
    std::memcpy(rte_pktmbuf_mtod(&packet, std::uint8_t*), bytes_ + frame.offset, frame.size);
    packet.data_len = static_cast<std::uint16_t>(frame.size);
    packet.pkt_len = frame.size;
    time_.set(packet, frame.nanoseconds);
    if (++next_ < frames_.size()) return;
    next_ = 0;
    ++rounds_;
  }

  /// Returns the number of frames until the end of the last round that this queue may give now. A result of at least
  /// `wanted` is not exact. Reads the peers' progress only if the known limit is below `wanted`.
  std::uint64_t left_in_step(std::uint64_t wanted) noexcept {
    const auto left = [this] {
      return rounds_ > last_round_ ? 0 : (last_round_ - rounds_ + 1) * frames_.size() - next_;
    };
    if (left() >= wanted) return wanted;
    std::uint64_t slowest = kEndless;
    for (const Queue* peer : peers_) {
      slowest = std::min(slowest, peer->published_rounds_.load(std::memory_order_relaxed));
    }
    last_round_ = slowest + slack_;
    return left();
  }

  const std::uint8_t* bytes_;
  std::vector<FrameEntry> frames_;
  std::uint64_t left_;
  std::size_t next_ = 0;
  std::uint64_t rounds_ = 0;      ///< Number of finished rounds over all frames.
  std::uint64_t last_round_ = 0;  ///< The last round that may begin.
  std::uint64_t slack_ = 0;
  std::vector<const Queue*> peers_;
  std::atomic<std::uint64_t> published_rounds_{0};  ///< `rounds_` for the peers.
  RateLimiter& limiter_;
  PacketPool pool_;
  MbufTime time_;
};

namespace {

/// Returns each queue's share of the first `packets` frames when all frames repeat endlessly.
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
  if (plan.endless) keep_in_step(frames.entries.size());
  bytes_ = std::move(frames.bytes);  // The bytes do not move in memory.
}

/// Keeps the queues in step, so that all frames are repeated equally often although workers differ in speed.
void Replay::keep_in_step(std::size_t frames) {
  std::vector<Queue*> endless;
  for (const auto& queue : queues_) {
    if (!queue->exhausted()) endless.push_back(queue.get());
  }
  if (endless.size() < 2) return;
  const std::uint64_t slack = std::max<std::uint64_t>(1, kMostAhead / frames);
  for (Queue* queue : endless) {
    std::vector<const Queue*> peers;
    std::ranges::copy_if(endless, std::back_inserter(peers), [queue](const Queue* each) { return each != queue; });
    queue->keep_in_step(std::move(peers), slack);
  }
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
