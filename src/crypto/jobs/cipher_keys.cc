// SPDX-License-Identifier: Apache-2.0
#include "crypto/jobs/cipher_keys.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace penumbra {

CipherKeys::CipherKeys(std::size_t most, GracePeriods& readers)
    : readers_(readers),
      keys_(most),
      library_keys_(most),
      view_{keys_.span().data(), library_keys_.span().data(), static_cast<std::uint32_t>(most)},
      free_(most) {
  std::iota(free_.rbegin(), free_.rend(), 0);
  // The library's keys are used on the host only.
  table_.publish(view_, {{.pointer_offset = offsetof(cipher_jobs_view, key),
                          .data = reinterpret_cast<const std::byte*>(view_.key),
                          .bytes = most * sizeof(cipher_key)}});
}

std::uint32_t CipherKeys::add(const KeyMaterial& material) {
  check(material);
  erase_removed(free_.empty());
  if (free_.empty()) throw std::length_error("the table has room for " + std::to_string(keys_.size()) + " keys");
  const std::uint32_t index = free_.back();
  worker_.expand(material, library_keys_[index]);
  expand(material, keys_[index]);
  free_.pop_back();
  ++size_;
  announce(index);
  return index;
}

void CipherKeys::remove(std::uint32_t index) {
  removed_.emplace_back(index, readers_.start());
  --size_;
}

void CipherKeys::erase_removed(bool wait) {
  const auto is_over = [&](const auto& each) { return readers_.elapsed(each.second, wait); };
  const auto end = std::ranges::find_if_not(removed_, is_over);
  for (auto each = removed_.begin(); each != end; ++each) {
    keys_.erase(each->first);
    library_keys_.erase(each->first);
    announce(each->first);
    free_.push_back(each->first);
  }
  removed_.erase(removed_.begin(), end);
}

void CipherKeys::announce(std::uint32_t index) {
  table_.changed(0, index * sizeof(cipher_key), sizeof(cipher_key));
  table_.commit();
}

}  // namespace penumbra
