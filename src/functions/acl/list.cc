// SPDX-License-Identifier: Apache-2.0
#include "functions/acl/list.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "base/random.h"
#include "shaders/rules/rule_structures.h"

namespace penumbra::acl {
namespace {

constexpr std::uint64_t kEndOfRanks = std::numeric_limits<std::uint64_t>::max();

std::uint64_t hash_of(const Entry& entry) {
  std::uint64_t hash = entry.permits ? 1 : 0;
  const auto add = [&hash](std::uint64_t word) { hash = Random::mixed(hash ^ word); };
  for (const std::uint64_t word : entry.match.value) add(word);
  for (const std::uint64_t word : entry.match.mask) add(word);
  for (const PortRange& ports : {entry.match.source_ports, entry.match.destination_ports}) {
    add(std::uint64_t{ports.first} << 16 | ports.last);
  }
  return hash;
}

/// Of a sequence the longest part that rises, as places in it; zeros do not count.
std::vector<std::size_t> longest_rise(std::span<const std::uint32_t> sequence) {
  std::vector<std::size_t> ends;  // of rises of 1, 2, ... numbers the places of the least last ones
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

Changes compare(std::span<const Entry> before, std::span<const Entry> after) {
  std::unordered_multimap<std::uint64_t, std::uint32_t> places;
  for (std::size_t i = before.size(); i-- > 0;) places.emplace(hash_of(before[i]), static_cast<std::uint32_t>(i + 1));
  std::vector<std::uint32_t> like(after.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    auto [first, last] = places.equal_range(hash_of(after[i]));
    auto least = last;  // of several that are alike the first one that is left
    for (; first != last; ++first) {
      const bool is_less = least == last || first->second < least->second;
      if (is_less && before[first->second - 1].is_like(after[i])) least = first;
    }
    if (least == last) continue;
    like[i] = least->second;
    places.erase(least);
  }
  Changes changes{.kept = std::vector<std::uint32_t>(after.size())};
  const std::vector<std::size_t> kept = longest_rise(like);
  for (const std::size_t place : kept) changes.kept[place] = like[place];
  changes.added = after.size() - kept.size();
  changes.removed = before.size() - kept.size();
  return changes;
}

List::List(Family family, const std::string& structure, std::uint64_t seed, GracePeriods& grace_periods)
    : table_(make_rule_table(structure, fields_of(family), seed, grace_periods)),
      rules_(fields_of(family), grace_periods) {
  rules_.feed(*table_);
}

/// Those that go on keep theirs; the others' lie evenly between these. None, if there is no room for them somewhere.
std::vector<std::uint64_t> List::ranks_of(const Changes& changes) const {
  std::vector<std::uint64_t> ranks(changes.kept.size());
  std::uint64_t above = kEndOfRanks;
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin;
    while (end < ranks.size() && changes.kept[end] == 0) ++end;
    const std::uint64_t below = end < ranks.size() ? ranks_[changes.kept[end] - 1] : 0;
    const std::uint64_t step = (above - below) / (end - begin + 1);
    if (step == 0) return {};
    for (std::size_t i = begin; i < end; ++i) ranks[i] = above -= step;
    if (end < ranks.size()) ranks[end] = above = below;
    begin = end + 1;
  }
  return ranks;
}

void List::replace(std::vector<Entry> entries,
                   const std::function<void(std::uint32_t number, const Entry& entry)>& begin) {
  Changes changes = compare(entries_, entries);
  std::vector<std::uint64_t> ranks = ranks_of(changes);
  if (ranks.empty() && !entries.empty()) {
    std::ranges::fill(changes.kept, 0);
    ranks = ranks_of(changes);
  }
  std::vector<std::uint32_t> numbers(entries.size());
  std::vector<std::uint32_t> added;
  try {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::uint32_t kept = changes.kept[i];
      numbers[i] = kept != 0 ? numbers_[kept - 1] : rules_.add_ranked(entries[i].match, ranks[i]);
      if (kept == 0) added.push_back(numbers[i]);
    }
  } catch (const std::length_error&) {
    for (const std::uint32_t number : added) rules_.remove(number);
    rules_.commit();
    throw;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (changes.kept[i] == 0) begin(numbers[i], entries[i]);
  }
  std::vector<bool> goes_on(entries_.size());
  for (const std::uint32_t kept : changes.kept) {
    if (kept != 0) goes_on[kept - 1] = true;
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!goes_on[i]) rules_.remove(numbers_[i]);
  }
  rules_.commit();
  entries_ = std::move(entries);
  numbers_ = std::move(numbers);
  ranks_ = std::move(ranks);
}

}  // namespace penumbra::acl
