// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/streams/stream_memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace penumbra::ids {

namespace {
/// More than one insertion makes.
constexpr std::size_t kScratchRanges = 2048;
}  // namespace

StreamMemory::StreamMemory(std::size_t limit) : limit_(limit) {
  scratch_.reserve(kScratchRanges);
}

StreamMemory::~StreamMemory() {
  for (auto& blocks : kept_) {
    for (std::uint8_t* const block : blocks) std::free(block);
  }
}

unsigned StreamMemory::order_of(std::size_t bytes) {
  return std::max(kLeastOrder, static_cast<unsigned>(std::bit_width(bytes == 0 ? 0 : bytes - 1)));
}

std::uint8_t* StreamMemory::take(unsigned order) {
  const std::size_t bytes = std::size_t{1} << order;
  auto& blocks = kept_[order];
  if (!blocks.empty()) {
    std::uint8_t* const block = blocks.back();
    blocks.pop_back();
    used_ += bytes;
    return block;
  }
  if (held_ + charged_ + bytes > limit_) free_kept(bytes);
  if (held_ + charged_ + bytes > limit_) return nullptr;
  auto* const block = static_cast<std::uint8_t*>(std::malloc(bytes));
  if (block == nullptr) return nullptr;
  held_ += bytes;
  used_ += bytes;
  return block;
}

void StreamMemory::give_back(std::uint8_t* block, unsigned order) {
  used_ -= std::size_t{1} << order;
  kept_[order].push_back(block);
}

/// Frees kept blocks of other sizes until `wanted` bytes are below the limit.
void StreamMemory::free_kept(std::size_t wanted) {
  for (unsigned order = kMostOrder; order >= kLeastOrder && held_ + charged_ + wanted > limit_; --order) {
    auto& blocks = kept_[order];
    while (!blocks.empty() && held_ + charged_ + wanted > limit_) {
      std::free(blocks.back());
      blocks.pop_back();
      held_ -= std::size_t{1} << order;
    }
  }
}

}  // namespace penumbra::ids
