// SPDX-License-Identifier: Apache-2.0
//
// Implements deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) among a worker's receive queues, with time in
// place of bytes. A flood of expensive packets on one queue does not take the time of the other queues.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace penumbra::runtime {

/// Schedules queues. In each round every queue gets the same share of time. A queue that has used more is skipped until
/// its debt is paid; an empty queue saves nothing. The worker never idles because of debts: if no other queue has
/// packets, the debts are reduced.
class DeficitRoundRobin {
 public:
  /// `share` is the time per round in ticks of the clock that measures costs, at least 1.
  DeficitRoundRobin(std::size_t queues, std::int64_t share) : share_(share), balances_(queues, 0) {}

  /// Adds a queue.
  void add_queue() { balances_.push_back(0); }

  /// Begins the queue's turn. Returns true if the queue may receive a chunk, and false if it is skipped.
  bool may_receive(std::size_t queue) noexcept {
    std::int64_t& balance = balances_[queue];
    balance = std::min(balance + share_, share_);
    if (balance > 0) return true;
    least_debt_ = std::min(least_debt_, -balance);
    return false;
  }
  /// Charges the queue for a chunk that took `ticks`.
  void charge(std::size_t queue, std::uint64_t ticks) noexcept {
    balances_[queue] -=
        std::min(static_cast<std::int64_t>(std::min<std::uint64_t>(ticks, INT64_MAX)), kMostShares * share_);
  }
  /// Records that the queue was empty.
  void was_empty(std::size_t queue) noexcept { balances_[queue] = 0; }

  /// Ends the round. Returns true if a queue with possible packets was skipped. If no queue `received`, the queue with
  /// the least debt is next.
  bool end_round(bool received) noexcept {
    const std::int64_t least = std::exchange(least_debt_, kNoDebt);
    if (least == kNoDebt) return false;
    if (received) return true;
    for (std::int64_t& balance : balances_) {
      if (balance < 0) balance += least;
    }
    return true;
  }

 private:
  static constexpr std::int64_t kNoDebt = INT64_MAX;
  /// Limits a chunk's charge, in shares: the worker may have lost the core meanwhile, for which the queue must not pay.
  static constexpr std::int64_t kMostShares = 64;

  const std::int64_t share_;
  std::vector<std::int64_t> balances_;  ///< By queue; below 0: debt.
  std::int64_t least_debt_ = kNoDebt;   ///< Least debt of the queues skipped in this round.
};

}  // namespace penumbra::runtime
