// SPDX-License-Identifier: Apache-2.0
//
// Chooses the half of a word that a subtable's prefilter uses (rules_bloom.shader.h). Each half is tried with the
// values of all rules of the subtable, in a prefilter of the final size, on likely headers. The best half lets the
// fewest headers pass. Among equal halves, the best has the most mask bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tables/rules_tuple/rules_bloom.shader.h"
#include "tables/rules_tuple/sparse_match.h"

namespace penumbra {

/// Returns the description of a prefilter for a subtable with this mask. The prefilter uses half `half` and has 2^bits
/// words from `begin` on, an even number.
inline std::uint64_t describe_prefilter(const SparseWords& mask, std::uint32_t half, unsigned bits,
                                        std::uint64_t begin) {
  return begin / 2 << RULES_PREFILTER_BEGIN | std::uint64_t{bits} << RULES_PREFILTER_BITS |
         std::uint64_t{half} << RULES_PREFILTER_HALF | static_cast<std::uint32_t>(mask[half / 2] >> (32 * (half % 2)));
}

/// Calls visit(word, bit) for each bit that a value sets in a prefilter.
template <class Visit>
void for_each_prefilter_bit(const std::uint64_t* secret, std::uint64_t prefilter, const SparseWords& value,
                            Visit visit) {
  const std::uint32_t hash = rules_prefilter_hash(secret, value.data(), prefilter);
  const std::uint32_t place = rules_prefilter_place(prefilter, hash);
  for (std::uint32_t function = 0; function < RULES_PREFILTER_HASHES; ++function) {
    visit(place / 2, (hash >> (5 * function) & 31) + 32 * (place % 2));
  }
}

/// Returns the best half. `mask`, `headers` and values have the `words` words that the subtable uses.
/// for_each_value(take) calls take(value) for each rule's value.
template <class ForEachValue>
std::uint32_t choose_half(const SparseWords& mask, std::size_t words, unsigned bits, const std::uint64_t* secret,
                          std::span<const SparseWords> headers, ForEachValue for_each_value) {
  struct Trial {
    std::uint64_t prefilter;
    std::vector<std::uint64_t> filter;
  };
  std::vector<Trial> trials;
  for (std::uint32_t half = 0; half < std::min<std::size_t>(2 * words, RULES_SPARSE_HALVES); ++half) {
    const std::uint64_t prefilter = describe_prefilter(mask, half, bits, 0);
    if (static_cast<std::uint32_t>(prefilter) == 0) continue;
    trials.push_back({prefilter, std::vector<std::uint64_t>(std::size_t{1} << bits)});
  }
  // One pass over the rules fills all trials, because the rules are scattered in memory.
  for_each_value([&](const SparseWords& value) {
    for (Trial& trial : trials) {
      for_each_prefilter_bit(secret, trial.prefilter, value, [&trial](std::uint64_t word, std::uint32_t bit) {
        trial.filter[word] |= std::uint64_t{1} << bit;
      });
    }
  });
  std::uint32_t best = 0;
  std::size_t fewest = headers.size() + 1;
  int most_bits = 0;
  for (const Trial& trial : trials) {
    const auto passed =
        static_cast<std::size_t>(std::ranges::count_if(headers, [secret, &trial](const SparseWords& header) {
          const std::uint32_t hash = rules_prefilter_hash(secret, header.data(), trial.prefilter);
          return rules_prefilter_may_have(trial.filter.data(), trial.prefilter, hash) != 0;
        }));
    const int mask_bits = std::popcount(static_cast<std::uint32_t>(trial.prefilter));
    if (passed > fewest || (passed == fewest && mask_bits <= most_bits)) continue;
    best = rules_prefilter_half(trial.prefilter);
    fewest = passed;
    most_bits = mask_bits;
  }
  return best;
}

}  // namespace penumbra
