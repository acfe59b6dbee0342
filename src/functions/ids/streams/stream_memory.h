// SPDX-License-Identifier: Apache-2.0
//
// The memory of all streams of a worker, and of what is made of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "functions/ids/streams/stream_policy.h"

namespace penumbra::ids {

/// Gives blocks of 2^order bytes, up to a limit in all. Returned blocks are kept for reuse, so that the steady state
/// allocates nothing. One worker owns it.
class StreamMemory {
 public:
  static constexpr unsigned kLeastOrder = 8, kMostOrder = 24;

  /// `limit` is in bytes, of blocks in use, of blocks that are kept, and of charged bytes.
  explicit StreamMemory(std::size_t limit);
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory();

  /// Returns a block, or null if the limit is reached. Precondition: kLeastOrder <= order <= kMostOrder.
  std::uint8_t* take(unsigned order);
  void give_back(std::uint8_t* block, unsigned order);

  /// Counts bytes that a session holds outside of blocks: `before` bytes become `after`. Never fails, because the text
  /// is there already; is_exceeded() then refuses further segments.
  void charge(std::size_t before, std::size_t after) { charged_ = charged_ - before + after; }
  bool is_exceeded() const { return used() > limit_; }

  std::size_t used() const { return used_ + charged_; }  ///< Bytes of blocks in use, and charged bytes.
  std::size_t held() const { return held_; }             ///< Bytes of all blocks.
  std::size_t limit() const { return limit_; }

  /// Room for the ranges that an insertion makes.
  std::vector<StreamRange>& scratch() { return scratch_; }

  /// Returns the least order whose blocks have `bytes`.
  static unsigned order_of(std::size_t bytes);

 private:
  void free_kept(std::size_t wanted);

  std::size_t limit_, used_ = 0, held_ = 0, charged_ = 0;
  std::array<std::vector<std::uint8_t*>, kMostOrder + 1> kept_;
  std::vector<StreamRange> scratch_;
};

}  // namespace penumbra::ids
