// SPDX-License-Identifier: Apache-2.0
//
// A sample of likely headers, for choosing the half of a word that a subtable's prefilter uses (prefilter_choice.h).
// The owner of a table never sees the headers of traffic, but rules give a hint of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "tables/rules_tuple/sparse_match.h"

namespace penumbra {

/// Each header has the value of one of the rules that were shown, all equally likely (Vitter: Random Sampling with a
/// Reservoir, ACM TOMS 1985). The bits that the rule's mask leaves open are random.
class HeaderSample {
 public:
  static constexpr std::size_t kHeaders = 64;
  /// From this many rules on, later rules are more likely than earlier ones, because old rules may be gone.
  static constexpr std::uint32_t kMemory = 65'536;

  HeaderSample(std::size_t words, std::uint64_t seed) : words_(words), random_(seed) { headers_.reserve(kHeaders); }

  void show(const SparseWords& mask, const SparseWords& value) {
    if (seen_ < kMemory) ++seen_;
    if (headers_.size() < kHeaders) {
      headers_.push_back(draw(mask, value));
    } else if (const std::uint32_t place = random_.below(seen_); place < kHeaders) {
      headers_[place] = draw(mask, value);
    }
  }
  std::span<const SparseWords> headers() const { return headers_; }

 private:
  SparseWords draw(const SparseWords& mask, const SparseWords& value) {
    SparseWords header{};
    for (std::size_t word = 0; word < words_; ++word) header[word] = value[word] | (random_.next() & ~mask[word]);
    return header;
  }

  const std::size_t words_;
  Random random_;
  std::uint32_t seen_ = 0;
  std::vector<SparseWords> headers_;
};

}  // namespace penumbra
