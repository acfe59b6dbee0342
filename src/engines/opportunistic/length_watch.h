// SPDX-License-Identifier: Apache-2.0
//
// Classes of payload by length. What an item costs on a member grows with its payload, differently on each member.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "penumbra/batch.h"

namespace penumbra::opportunistic {

/// Bytes of an item's payload with which each class is measured.
inline constexpr std::array<std::uint32_t, 3> kLengths{64, 512, 1408};

/// Returns the class, an index in kLengths, of items with `mean` bytes. Two classes meet near the geometric mean of
/// their lengths.
constexpr std::size_t class_of(std::uint64_t mean) {
  return mean < 256 ? 0 : mean < 1024 ? 1 : 2;
}

/// Returns the bytes of payload of all items, those of the source if the shader has one, else the rooms.
inline std::uint64_t payload_bytes(const Batch& batch) noexcept {
  const auto& payload = batch.shader->source ? batch.shader->source : batch.shader->destination;
  const auto* const lengths = static_cast<const std::uint32_t*>(batch.inputs[payload.value().positions + 1]);
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < batch.items; ++i) sum += lengths[i];
  return sum;
}

/// Follows the class of a worker's batches. The class changes when the means of two consecutive rounds are in the same
/// other class, so that single long packets change nothing.
class LengthWatch {
 public:
  static constexpr std::uint32_t kRound = 32;  ///< Batches of a round.

  std::size_t length_class() const noexcept { return class_; }
  /// Records a batch. Returns true if the class has changed.
  bool took(std::uint64_t bytes, std::uint32_t items) noexcept {
    bytes_ += bytes;
    items_ += items;
    if (++batches_ < kRound) return false;
    const std::size_t found = items_ == 0 ? class_ : class_of(bytes_ / items_);
    bytes_ = items_ = batches_ = 0;
    const bool is_new = found != class_ && found == last_;
    last_ = found;
    if (is_new) class_ = found;
    return is_new;
  }

 private:
  std::size_t class_ = 0, last_ = 0;  ///< In force; of the last round.
  std::uint64_t bytes_ = 0, items_ = 0, batches_ = 0;
};

}  // namespace penumbra::opportunistic
