// SPDX-License-Identifier: Apache-2.0
//
// The anti-replay window of an inbound SA (RFC 4303, section 3.4.3), which several workers share without locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace penumbra::ipsec {

enum class Replayed : std::uint8_t {
  no,
  late,  ///< older than the window
  yes,
};

/// Remembers which sequence numbers were received. The numbers have 64 bits; without ESN the upper half is 0.
///
/// Words are a ring (RFC 6479). Each word has the number of its block and a bit for each sequence number of the block.
/// So a compare-and-swap of one word both recycles the word and sets a bit.
class ReplayWindow {
 public:
  /// A window of `packets` packets, up to 4096. With 0 every number is new.
  explicit ReplayWindow(std::uint32_t packets);

  /// Checks a number before its packet is authenticated. Changes nothing.
  Replayed check(std::uint64_t number) const noexcept;
  /// Records the number of an authenticated packet. Of several callers with one number, a single one gets `no`.
  Replayed record(std::uint64_t number) noexcept;

  /// Returns the highest recorded number, or 0.
  std::uint64_t top() const noexcept { return top_.load(std::memory_order_relaxed); }
  std::uint32_t packets() const noexcept { return packets_; }

  /// Loads the state that Linux's XFRM gives: the highest number, and the bitmap of xfrm_replay_state (one word, whose
  /// bit 0 stands for the highest number) or of xfrm_replay_state_esn (a ring of bits). No other thread may call.
  void load(std::uint64_t top, std::span<const std::uint32_t> bitmap, bool is_ring);
  /// Returns the state in the same form. `words` is the size of a ring.
  std::vector<std::uint32_t> bitmap(std::uint32_t words, bool is_ring) const;

 private:
  static constexpr unsigned kBlockBits = 4;  ///< log2 of the sequence numbers of a block.
  static constexpr std::uint64_t kBlock = std::uint64_t{1} << kBlockBits;
  static constexpr unsigned kTagShift = 16;

  static std::uint64_t block_of(std::uint64_t number) { return number >> kBlockBits; }
  static std::uint64_t bit_of(std::uint64_t number) { return std::uint64_t{1} << (number & (kBlock - 1)); }
  static std::uint64_t tag_of(std::uint64_t block) { return block << kTagShift; }
  const std::atomic<std::uint64_t>& word_of(std::uint64_t block) const { return words_[block & mask_]; }
  std::atomic<std::uint64_t>& word_of(std::uint64_t block) { return words_[block & mask_]; }
  bool has(std::uint64_t number) const noexcept;

  std::uint32_t packets_;
  std::uint64_t mask_ = 0;
  std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
  std::atomic<std::uint64_t> top_{0};
};

/// Returns the sequence number whose lower half a packet carries (RFC 4303, appendix A2.2), or nothing if it lies
/// before number 0. `top` is the highest number received, `window` the size of the window.
std::optional<std::uint64_t> recover_number(std::uint32_t low, std::uint64_t top, std::uint32_t window);

}  // namespace penumbra::ipsec
