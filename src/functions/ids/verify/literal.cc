// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/verify/literal.h"

#include <string.h>

namespace penumbra::ids {

Literal::Literal(const std::string& bytes, bool nocase) : bytes_(bytes), nocase_(nocase) {
  if (!nocase) return;
  for (char& byte : bytes_) byte = static_cast<char>(fold(static_cast<std::uint8_t>(byte)));
}

bool Literal::matches_at(const std::uint8_t* text) const {
  if (!nocase_) return memcmp(text, bytes_.data(), bytes_.size()) == 0;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (fold(text[i]) != static_cast<std::uint8_t>(bytes_[i])) return false;
  }
  return true;
}

std::size_t Literal::find(std::span<const std::uint8_t> text, std::size_t from) const {
  if (from > text.size() || text.size() - from < bytes_.size()) return kNone;
  if (!nocase_) {
    const void* const found = memmem(text.data() + from, text.size() - from, bytes_.data(), bytes_.size());
    return found == nullptr ? kNone : static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - text.data());
  }
  for (std::size_t at = from; at + bytes_.size() <= text.size(); ++at) {
    if (matches_at(text.data() + at)) return at;
  }
  return kNone;
}

}  // namespace penumbra::ids
