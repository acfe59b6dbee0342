// SPDX-License-Identifier: Apache-2.0
//
// The words of a sparse key that a subtable uses, on the host (rules_sparse.shader.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "penumbra/rule.h"
#include "tables/rules_tuple/rules_sparse.shader.h"

namespace penumbra {

static_assert(RULES_SPARSE_MORE + std::size_t{RULES_WORDS} == RULES_SPARSE_WORDS);
static_assert(kSparseWords == RULES_SPARSE_WORDS);

/// The words of a key that a subtable uses. A subtable of keys that are not sparse uses all words.
class UsedWords {
 public:
  UsedWords() = default;
  static UsedWords all(std::size_t words) {
    UsedWords used;
    for (std::size_t word = 0; word < words; ++word) used.add(word);
    return used;
  }
  static UsedWords of(const SparseWords& mask) {
    UsedWords used;
    for (std::size_t word = 0; word < mask.size(); ++word) {
      if (mask[word] != 0) used.add(word);
    }
    return used;
  }

  /// Returns the form that shaders read.
  std::uint64_t places() const { return places_ | std::uint64_t{count_} << RULES_SPARSE_COUNT; }
  std::uint32_t count() const { return count_; }
  /// Returns the used words of a key, followed by zeros.
  SparseWords gathered(const SparseWords& key) const {
    SparseWords own{};
    for (std::uint32_t i = 0; i < count_; ++i) own[i] = key[rules_sparse_place(places_, i)];
    return own;
  }
  /// Returns a key with these used words, and zeros elsewhere.
  SparseWords scattered(const SparseWords& own) const {
    SparseWords key{};
    for (std::uint32_t i = 0; i < count_; ++i) key[rules_sparse_place(places_, i)] = own[i];
    return key;
  }

 private:
  void add(std::size_t word) { places_ |= std::uint64_t{word} << 4 * count_++; }

  std::uint64_t places_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace penumbra
