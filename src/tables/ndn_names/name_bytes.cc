// SPDX-License-Identifier: Apache-2.0
#include "name_bytes.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace penumbra::ndn {

const std::uint8_t* NameBytes::take(const std::uint8_t* bytes, std::size_t size, std::uint32_t users) {
  if (size > kMost) throw std::invalid_argument("a name has at most " + std::to_string(kMost) + " bytes");
  const std::size_t size_class = (size + sizeof(Head) + kUnit - 1) / kUnit;
  std::byte* piece = free_[size_class].first;
  if (piece != nullptr) {
    std::memcpy(&free_[size_class], piece, sizeof(Chain));
  } else {
    piece = new_piece(size_class * kUnit);
  }
  const Head head{users, static_cast<std::uint32_t>(size_class)};
  std::memcpy(piece, &head, sizeof head);
  auto* const copy = reinterpret_cast<std::uint8_t*>(piece + sizeof head);
  if (size > 0) std::memcpy(copy, bytes, size);
  return copy;
}

void NameBytes::release(const std::uint8_t* bytes) {
  auto* const piece = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(bytes)) - sizeof(Head);
  Head head;
  std::memcpy(&head, piece, sizeof head);
  if (--head.users > 0) {
    std::memcpy(piece, &head, sizeof head);
    return;
  }
  std::memcpy(piece, &free_[head.size_class], sizeof(Chain));
  free_[head.size_class].first = piece;
}

std::byte* NameBytes::new_piece(std::size_t bytes) {
  if (left_ < bytes) {
    segments_.emplace_back(kSegment);
    left_ = kSegment;
  }
  std::byte* const piece = segments_.back().data() + (kSegment - left_);
  left_ -= bytes;
  used_ += bytes;
  return piece;
}

}  // namespace penumbra::ndn
