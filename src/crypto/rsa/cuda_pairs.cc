// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa/cuda_pairs.h"

#include <algorithm>
#include <cstddef>

namespace penumbra::rsa {

BlindingPairs::BlindingPairs(std::uint32_t pairs) : pairs_(pairs), free_(1) {
  for (std::uint32_t i = pairs; i-- > 0;) free_[0].push_back(i);
}

void BlindingPairs::take_back(std::uint32_t most_key) {
  if (free_.size() < std::size_t{most_key} + 2) free_.resize(std::size_t{most_key} + 2);
  for (const std::uint32_t pair : in_use_) free_[pairs_[pair].key + 1].push_back(pair);
  in_use_.clear();
}

bool BlindingPairs::take(std::uint32_t index, std::uint32_t key) {
  Pair& pair = pairs_[index];
  in_use_.push_back(index);
  const bool is_usable = pair.uses != 0 && pair.key == key;
  if (!is_usable) pair = {key, kUses};
  --pair.uses;
  return !is_usable;
}

void BlindingPairs::forget(std::uint32_t key) {
  for (Pair& pair : pairs_) {
    if (pair.key == key) pair.uses = 0;
  }
}

void BlindingPairs::renew_early(std::span<const std::uint32_t> pairs, std::vector<std::uint32_t>& made) {
  for (std::uint32_t i = 0; i < pairs.size(); ++i) {
    Pair& pair = pairs_[pairs[i]];
    if (pair.uses >= kFewUses) continue;
    pair.uses = kUses - 1;
    made.push_back(i);
  }
}

std::vector<std::uint32_t> BlindingPairs::assign(std::span<const std::uint32_t> keys, std::span<std::uint32_t> pairs) {
  std::vector<std::uint32_t> without, made;
  if (keys.empty()) return made;
  take_back(*std::ranges::max_element(keys));
  const auto give = [&](std::uint32_t operation, std::vector<std::uint32_t>& from) {
    pairs[operation] = from.back();
    from.pop_back();
    if (take(pairs[operation], keys[operation])) made.push_back(operation);
  };
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    std::vector<std::uint32_t>& own = free_[std::size_t{keys[i]} + 1];
    if (!own.empty()) {
      give(i, own);
    } else {
      without.push_back(i);
    }
  }
  std::size_t from = 0;
  for (const std::uint32_t operation : without) {
    while (free_[from].empty()) ++from;
    give(operation, free_[from]);
  }
  if (!made.empty()) renew_early(pairs.first(keys.size()), made);
  return made;
}

}  // namespace penumbra::rsa
