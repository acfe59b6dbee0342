// SPDX-License-Identifier: Apache-2.0
//
// A security association as workers use it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "control/xfrm/model.h"
#include "functions/ipsec/esp.h"
#include "functions/ipsec/flow.h"
#include "functions/ipsec/window.h"

namespace penumbra::ipsec {

/// Sequence numbers that were lent to this process. Workers take them in groups; one thread adds blocks.
class SequenceNumbers {
 public:
  /// Numbers from `first` on. `count` may be less than asked for, down to 0.
  struct Taken {
    std::uint64_t first = 0;
    std::uint32_t count = 0;
  };

  /// Takes up to `count` numbers. No number is taken twice.
  Taken take(std::uint32_t count) noexcept {
    std::uint64_t end = end_.load(std::memory_order_acquire), next = next_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint64_t left = next < end ? end - next : 0;
      const auto taken = static_cast<std::uint32_t>(left < count ? left : count);
      if (taken == 0) return {};
      if (next_.compare_exchange_weak(next, next + taken, std::memory_order_acq_rel)) return {next, taken};
      end = end_.load(std::memory_order_acquire);
    }
  }
  /// Adds a block that follows all blocks before, not necessarily at once. Numbers of a block before a gap are given
  /// up. Returns false, and adds nothing, if a number may have been given before.
  bool add(std::uint64_t first, std::uint64_t count) noexcept {
    const std::uint64_t end = end_.load(std::memory_order_relaxed);
    if (first < end || first == 0 || first + count < first) return false;
    // A worker that sees the new end sees the new begin too.
    if (first != end) {
      next_.store(first, std::memory_order_release);
      leave(first);
    }
    end_.store(first + count, std::memory_order_release);
    return true;
  }
  /// Begins after all blocks of an SA with the same key, so that add() refuses them. No other thread may call.
  void begin_after(const SequenceNumbers& before) noexcept {
    const std::uint64_t end = before.end_.load(std::memory_order_relaxed);
    next_.store(end, std::memory_order_relaxed);
    end_.store(end, std::memory_order_relaxed);
    turn_.store(end, std::memory_order_relaxed);
  }
  std::uint64_t left() const noexcept {
    const std::uint64_t end = end_.load(std::memory_order_acquire), next = next_.load(std::memory_order_acquire);
    return next < end ? end - next : 0;
  }
  /// True if all numbers before `number` have left (seal_order.h).
  bool is_turn(std::uint64_t number) const noexcept { return turn_.load(std::memory_order_acquire) >= number; }
  /// Records that all numbers before `end` have left, or are no longer waited for.
  void leave(std::uint64_t end) noexcept {
    std::uint64_t turn = turn_.load(std::memory_order_relaxed);
    while (turn < end && !turn_.compare_exchange_weak(turn, end, std::memory_order_acq_rel)) {
    }
  }
  /// Returns the last number that was taken, or 0.
  std::uint64_t last() const noexcept {
    const std::uint64_t next = next_.load(std::memory_order_acquire);
    return next == 0 ? 0 : next - 1;
  }

 private:
  std::atomic<std::uint64_t> next_{0}, end_{0}, turn_{0};
};

/// Counters of an SA in this process. Workers add.
struct SaUse {
  std::atomic<std::uint64_t> bytes{0}, packets{0};
  std::atomic<std::uint64_t> late{0}, replayed{0}, bad_icv{0};
  std::atomic<std::uint64_t> last_mapping{0};  ///< Hash of the peer's new address that was reported last.
  std::atomic<std::uint64_t> time{0};          ///< Seconds since 1970 of the first packet, which the agent sets.
};

/// Counters of an SA as they were reported.
struct SaReport {
  std::uint64_t bytes = 0, packets = 0, late = 0, replayed = 0, bad_icv = 0, top = 0;

  bool operator==(const SaReport&) const = default;
};

/// Objects outlive the snapshots that list them.
struct DataSa {
  /// `from` has keys.
  explicit DataSa(control::xfrm::Sa&& from) : sa(std::move(from)), format(format_of(sa.settings)) {
    window->load(sa.replay.in, sa.replay.bitmap, sa.settings.has_extended_replay);
    const control::xfrm::Algorithms& used = sa.settings.algorithms;
    const auto& main = used.aead ? used.aead : used.cipher;
    if (format.iv == IvKind::counter && main) salt = sa.keys->cipher + main->key_bits / 8 - kSaltBytes;
  }

  /// As it was added. Workers read `settings`, which never change. The agent's thread changes `dying`.
  control::xfrm::Sa sa;
  const std::uint8_t* salt = nullptr;  ///< In `sa.keys`; null without a counter mode.
  // Fields of the agent's thread.
  std::uint64_t number = 0;      ///< Increases with each addition.
  std::uint64_t block = 0;       ///< Size of the last block of sequence numbers.
  std::uint64_t lent_at = 0;     ///< Milliseconds of a steady clock.
  bool is_lending = false;       ///< A block was asked for.
  std::uint64_t mapped_at = 0;   ///< Milliseconds of a steady clock, when a mapping was reported.
  std::optional<Flow> moved_to;  ///< The newest mapping, which waits to be reported.
  SaReport reported;
  bool owns_key = true;  ///< The key of `format.key` ends with this object.

  SaFormat format;
  /// An SA that replaces another one with the same key has its window, so that packets which workers still receive on
  /// the old one are replays for the new one. The same holds for the counters.
  std::shared_ptr<ReplayWindow> window = std::make_shared<ReplayWindow>(sa.settings.replay_window);
  std::shared_ptr<SaUse> use = std::make_shared<SaUse>();
  SequenceNumbers numbers;
  std::atomic<bool> is_expired{false};     ///< A hard limit was reached.
  std::atomic<std::uint64_t> low_mark{0};  ///< With fewer `numbers` left, a worker asks for more.
  std::atomic<bool> wants_numbers{false};  ///< An event was pushed.

  /// Continues an SA with the same key, which this one replaces. No worker knows this object yet.
  void continue_from(const DataSa& before) {
    format.key = before.format.key;
    // Further numbers come from the lender, so that both objects never have the same.
    numbers.begin_after(before.numbers);
    if (before.window->packets() == window->packets()) {
      window = before.window;
    } else {
      const std::uint32_t words = (before.window->packets() + 31) / 32;
      window->load(before.window->top(), before.window->bitmap(words, true), true);
    }
    // An SA that was deleted and added again counts from 0.
    if (before.sa.usage.add_time != sa.usage.add_time) return;
    use = before.use;
    sa.usage = before.sa.usage;
    reported = before.reported;
  }
  /// Notes the size of a block that was lent or asked for, which decides about the next one.
  void note_block(std::uint64_t count, std::uint64_t now_ms) noexcept {
    block = count;
    low_mark.store(count / 2, std::memory_order_relaxed);
    lent_at = now_ms;
  }
  /// True if a hard limit of bytes or packets is reached.
  bool is_used_up() const noexcept {
    return sa.usage.bytes + use->bytes.load(std::memory_order_relaxed) >= sa.settings.limits.hard_bytes ||
           sa.usage.packets + use->packets.load(std::memory_order_relaxed) >= sa.settings.limits.hard_packets;
  }
};

}  // namespace penumbra::ipsec
