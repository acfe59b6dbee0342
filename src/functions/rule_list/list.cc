// SPDX-License-Identifier: Apache-2.0
#include "functions/rule_list/list.h"

#include <limits>

#include "base/random.h"

namespace penumbra::rule_list {
namespace {

constexpr std::uint64_t kEndOfRanks = std::numeric_limits<std::uint64_t>::max();

/// Returns the indices of a longest rising subsequence. Zeros are ignored.
std::vector<std::size_t> longest_rise(std::span<const std::uint32_t> sequence) {
  std::vector<std::size_t>
      ends;  // ends[n]: index of the smallest last number of all rising subsequences of length n + 1
  std::vector<std::size_t> before(sequence.size());
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    if (sequence[i] == 0) continue;
    const auto end =
        std::ranges::lower_bound(ends, sequence[i], {}, [&](std::size_t place) { return sequence[place]; });
    before[i] = end == ends.begin() ? i : *(end - 1);
    if (end == ends.end()) {
      ends.push_back(i);
    } else {
      *end = i;
    }
  }
  std::vector<std::size_t> rise(ends.size());
  for (std::size_t i = ends.size(), at = ends.empty() ? 0 : ends.back(); i-- > 0; at = before[at]) rise[i] = at;
  return rise;
}

}  // namespace

std::uint64_t hash_of(const RuleMatch& match) {
  std::uint64_t hash = 0;
  const auto add = [&hash](std::uint64_t word) { hash = Random::mixed(hash ^ word); };
  for (const std::uint64_t word : match.value) add(word);
  for (const std::uint64_t word : match.mask) add(word);
  for (const PortRange& ports : {match.source_ports, match.destination_ports}) {
    add(std::uint64_t{ports.first} << 16 | ports.last);
  }
  return hash;
}

std::uint64_t hash_of(const SparseMatch& match) {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : match.value) hash = Random::mixed(hash ^ word);
  for (const std::uint64_t word : match.mask) hash = Random::mixed(hash ^ word);
  return hash;
}

Changes keep_most(std::span<const std::uint32_t> like, std::size_t before) {
  Changes changes{.kept = std::vector<std::uint32_t>(like.size())};
  const std::vector<std::size_t> kept = longest_rise(like);
  for (const std::size_t place : kept) changes.kept[place] = like[place];
  changes.added = like.size() - kept.size();
  changes.removed = before - kept.size();
  return changes;
}

std::vector<std::uint64_t> ranks_after(const Changes& changes, std::span<const std::uint64_t> before) {
  std::vector<std::uint64_t> ranks(changes.kept.size());
  std::uint64_t above = kEndOfRanks;
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin;
    while (end < ranks.size() && changes.kept[end] == 0) ++end;
    const std::uint64_t below = end < ranks.size() ? before[changes.kept[end] - 1] : 0;
    const std::uint64_t step = (above - below) / (end - begin + 1);
    if (step == 0) return {};
    for (std::size_t i = begin; i < end; ++i) ranks[i] = above -= step;
    if (end < ranks.size()) ranks[end] = above = below;
    begin = end + 1;
  }
  return ranks;
}

}  // namespace penumbra::rule_list
