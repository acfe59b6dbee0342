// SPDX-License-Identifier: Apache-2.0
//
// Random sparse rules that do not overlap, and keys, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "tables/rules_tuple/sparse_match.h"

namespace penumbra::sparse_testing {

/// Draws matches as the leaves of a random tree. An inner node tests some bits of a word, and its children differ in
/// these bits, so that no key matches two leaves.
class DisjointMatches {
 public:
  /// Each inner node tests one of `fields`: a mask in one word of a key. `most` limits the number of matches.
  DisjointMatches(std::vector<SparseWords> fields, std::size_t most, std::uint64_t seed)
      : fields_(std::move(fields)), most_(most), random_(seed) {
    while (matches_.empty()) grow({}, 0);
  }

  const std::vector<SparseMatch>& matches() const { return matches_; }
  Random& random() { return random_; }
  /// Returns a key that `match` matches.
  SparseWords key_of(const SparseMatch& match) {
    SparseWords key;
    for (std::size_t word = 0; word < key.size(); ++word) {
      key[word] = match.value[word] | (random_.next() & ~match.mask[word]);
    }
    return key;
  }
  /// Returns a key that some match probably matches.
  SparseWords key() {
    SparseWords key = key_of(matches_[random_.below(static_cast<std::uint32_t>(matches_.size()))]);
    if (random_.below(4) == 0) {
      key[random_.below(RULES_SPARSE_WORDS)] ^= std::uint64_t{1} << random_.below(64);
    }
    return key;
  }

 private:
  void grow(const SparseMatch& path, unsigned depth) {
    if (matches_.size() >= most_) return;
    if (depth == fields_.size() || (depth > 1 && random_.below(6) == 0)) return matches_.push_back(path);
    SparseWords tested = fields_[random_.below(static_cast<std::uint32_t>(fields_.size()))];
    bool is_new = false;
    for (std::size_t word = 0; word < tested.size(); ++word) {
      tested[word] &= ~path.mask[word];
      is_new = is_new || tested[word] != 0;
    }
    if (!is_new) return grow(path, depth + 1);
    std::vector<SparseWords> values;
    for (std::uint32_t child = 1 + random_.below(3); child > 0; --child) {
      SparseWords value{};
      for (std::size_t word = 0; word < tested.size(); ++word) value[word] = random_.next() & tested[word];
      bool is_known = false;
      for (const SparseWords& other : values) is_known = is_known || other == value;
      if (is_known) continue;
      values.push_back(value);
      SparseMatch next = path;
      for (std::size_t word = 0; word < tested.size(); ++word) {
        next.mask[word] |= tested[word];
        next.value[word] |= value[word];
      }
      grow(next, depth + 1);
    }
  }

  const std::vector<SparseWords> fields_;
  const std::size_t most_;
  Random random_;
  std::vector<SparseMatch> matches_;
};

/// Returns masks of random bits, some in each word.
inline std::vector<SparseWords> random_fields(std::uint64_t seed) {
  Random random(seed);
  std::vector<SparseWords> fields;
  for (std::size_t word = 0; word < RULES_SPARSE_WORDS; ++word) {
    for (int i = 0; i < 2; ++i) {
      SparseWords& field = fields.emplace_back();
      field[word] = random.below(4) == 0 ? ~std::uint64_t{0} : random.next() & random.next();
    }
  }
  return fields;
}

}  // namespace penumbra::sparse_testing
