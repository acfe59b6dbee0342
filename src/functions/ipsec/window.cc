// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/window.h"

#include <algorithm>
#include <bit>

namespace penumbra::ipsec {
namespace {

constexpr unsigned kWordBits = 32;  // of XFRM's bitmaps

/// True if the block of a word's tag is older than `block`. Tags have 48 bits and wrap.
bool is_older(std::uint64_t word, std::uint64_t tag) {
  return static_cast<std::int64_t>((word & ~std::uint64_t{0xFFFF}) - tag) < 0;
}

}  // namespace

ReplayWindow::ReplayWindow(std::uint32_t packets) : packets_(packets) {
  if (packets == 0) return;
  // One block more than the window has, because the window rarely begins at a block.
  const std::uint64_t words = std::bit_ceil((packets + kBlock - 1) / kBlock + 1);
  mask_ = words - 1;
  words_ = std::make_unique<std::atomic<std::uint64_t>[]>(words);
}

bool ReplayWindow::has(std::uint64_t number) const noexcept {
  const std::uint64_t block = block_of(number), word = word_of(block).load(std::memory_order_acquire);
  return word >> kTagShift == tag_of(block) >> kTagShift && (word & bit_of(number)) != 0;
}

Replayed ReplayWindow::check(std::uint64_t number) const noexcept {
  if (packets_ == 0) return Replayed::no;
  const std::uint64_t top = top_.load(std::memory_order_acquire);
  if (number > top) return Replayed::no;
  if (number == 0 || top - number >= packets_) return Replayed::late;
  return has(number) ? Replayed::yes : Replayed::no;
}

Replayed ReplayWindow::record(std::uint64_t number) noexcept {
  std::uint64_t top = top_.load(std::memory_order_acquire);
  if (packets_ == 0) {
    while (number > top && !top_.compare_exchange_weak(top, number, std::memory_order_relaxed)) {
    }
    return Replayed::no;
  }
  if (number == 0 || (number <= top && top - number >= packets_)) return Replayed::late;
  const std::uint64_t block = block_of(number), tag = tag_of(block), bit = bit_of(number);
  std::atomic<std::uint64_t>& place = word_of(block);
  std::uint64_t word = place.load(std::memory_order_acquire);
  std::uint64_t wanted = 0;
  do {
    const bool is_current = word >> kTagShift == tag >> kTagShift;
    if (is_current && (word & bit) != 0) return Replayed::yes;
    // Another worker has moved the window past this block.
    if (!is_current && !is_older(word, tag)) return Replayed::late;
    wanted = is_current ? word | bit : tag | bit;
  } while (!place.compare_exchange_weak(word, wanted, std::memory_order_acq_rel));
  while (number > top && !top_.compare_exchange_weak(top, number, std::memory_order_acq_rel)) {
  }
  return Replayed::no;
}

void ReplayWindow::load(std::uint64_t top, std::span<const std::uint32_t> bitmap, bool is_ring) {
  top_.store(top, std::memory_order_relaxed);
  if (packets_ == 0) return;
  const std::uint64_t bits = bitmap.size() * kWordBits;
  if (is_ring && bits < packets_) return;
  const std::uint64_t count = std::min<std::uint64_t>({packets_, bits, top});
  for (std::uint64_t age = count; age-- > 0;) {
    const std::uint64_t number = top - age;
    // XFRM's ring begins with the bit of number 1, and has as many bits as the window has packets.
    const std::uint64_t at = is_ring ? (number - 1) % packets_ : age;
    if ((bitmap[at / kWordBits] >> (at % kWordBits) & 1U) == 0) continue;
    const std::uint64_t block = block_of(number), tag = tag_of(block);
    std::atomic<std::uint64_t>& place = word_of(block);
    const std::uint64_t word = place.load(std::memory_order_relaxed);
    place.store((word >> kTagShift == tag >> kTagShift ? word : tag) | bit_of(number), std::memory_order_relaxed);
  }
}

std::vector<std::uint32_t> ReplayWindow::bitmap(std::uint32_t words, bool is_ring) const {
  std::vector<std::uint32_t> bitmap(words);
  const std::uint64_t bits = std::uint64_t{words} * kWordBits, last = top();
  if (is_ring && bits < packets_) return bitmap;
  const std::uint64_t count = std::min<std::uint64_t>({packets_, bits, last});
  for (std::uint64_t age = 0; age < count; ++age) {
    const std::uint64_t number = last - age;
    if (!has(number)) continue;
    const std::uint64_t at = is_ring ? (number - 1) % packets_ : age;
    bitmap[at / kWordBits] |= 1U << (at % kWordBits);
  }
  return bitmap;
}

std::optional<std::uint64_t> recover_number(std::uint32_t low, std::uint64_t top, std::uint32_t window) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 32;
  const auto top_low = static_cast<std::uint32_t>(top);
  const std::uint64_t high = top & ~(kHalf - 1);
  // An SA with ESN has a window; the number 1 stands for one packet.
  const std::uint32_t packets = std::max(window, 1U);
  const std::uint32_t bottom = top_low - packets + 1;  // Modulo 2^32.
  if (top_low >= packets - 1) return (low >= bottom ? high : high + kHalf) | low;
  if (low < bottom) return high | low;
  if (high == 0) return std::nullopt;
  return (high - kHalf) | low;
}

}  // namespace penumbra::ipsec
