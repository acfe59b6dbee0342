// SPDX-License-Identifier: Apache-2.0
//
// Whose turn it is among a worker's receive queues, so that a flood of packets that cost much, on one of them, does not
// take the time of the others: deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) with time in place of bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace penumbra::runtime {

/// In each round every queue gets the same share of time. One that has used more is passed over until it has made up
/// for it; what an empty queue does not use is not saved up. No time is lost: if nobody else has packets, debts are
/// cut.
class DeficitRoundRobin {
 public:
  /// `share` is in ticks of the clock that costs are measured with, at least 1.
  DeficitRoundRobin(std::size_t queues, std::int64_t share) : share_(share), balances_(queues, 0) {}

  /// There is one more queue.
  void add_queue() { balances_.push_back(0); }

  /// It is the queue's turn: returns whether it may receive a chunk, or is passed over.
  bool may_receive(std::size_t queue) noexcept {
    std::int64_t& balance = balances_[queue];
    balance = std::min(balance + share_, share_);
    if (balance > 0) return true;
    least_debt_ = std::min(least_debt_, -balance);
    return false;
  }
  /// It received a chunk, which took so long.
  void charge(std::size_t queue, std::uint64_t ticks) noexcept {
    balances_[queue] -=
        std::min(static_cast<std::int64_t>(std::min<std::uint64_t>(ticks, INT64_MAX)), kMostShares * share_);
  }
  /// It had nothing.
  void was_empty(std::size_t queue) noexcept { balances_[queue] = 0; }

  /// The round is over. Returns whether a queue was passed over, which may have packets. If nobody `received`, the
  /// queue that owes least is next.
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
  /// A chunk is charged no more: its worker may have lost the core meanwhile, which is not the queue's fault.
  static constexpr std::int64_t kMostShares = 64;

  const std::int64_t share_;
  std::vector<std::int64_t> balances_;  ///< by queue; below 0: it owes
  std::int64_t least_debt_ = kNoDebt;   ///< of those passed over in this round
};

}  // namespace penumbra::runtime
