// SPDX-License-Identifier: Apache-2.0
//
// Which factors of blinding the operations of a batch use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penumbra::rsa {

/// The pairs of a GPU. Each belongs to the key that used it last.
class BlindingPairs {
 public:
  static constexpr unsigned kUses = 32;    ///< The most operations with a pair.
  static constexpr unsigned kFewUses = 8;  ///< A pair with fewer uses left is made again together with others.

  explicit BlindingPairs(std::uint32_t pairs);

  /// Gives each operation of a batch a pair, if possible one of its key, and takes back the pairs of the batch before.
  /// `keys` has the indices of the operations' keys, and at most as many elements as there are pairs. Sets pairs[i],
  /// and returns the operations whose pairs must be made first. Making few pairs takes as long as an operation, so most
  /// batches make none.
  std::vector<std::uint32_t> assign(std::span<const std::uint32_t> keys, std::span<std::uint32_t> pairs);
  /// Lets no operation use a pair of a key that was used so far.
  void forget(std::uint32_t key);

 private:
  struct Pair {
    std::uint32_t key = 0;
    unsigned uses = 0;  ///< That are left.
  };
  /// Takes back the pairs of the batch before.
  void take_back(std::uint32_t most_key);
  /// Gives a pair to an operation with a key. Returns true if it must be made.
  bool take(std::uint32_t pair, std::uint32_t key);
  /// Adds the operations of a batch to `made` whose pairs have few uses left.
  void renew_early(std::span<const std::uint32_t> pairs, std::vector<std::uint32_t>& made);

  std::vector<Pair> pairs_;
  std::vector<std::vector<std::uint32_t>>
      free_;  ///< By key plus one. The first element has those that no key has used.
  std::vector<std::uint32_t> in_use_;
};

}  // namespace penumbra::rsa
