// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/state/threshold_table.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "functions/ids/state/hash_words.h"

namespace penumbra::ids {
namespace {

constexpr std::uint64_t kMicroseconds = 1000000;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

}  // namespace

ThresholdTable::ThresholdTable(std::size_t entries, std::uint64_t seed)
    : entries_(std::bit_ceil(std::max(entries, kProbes))), seed_(seed) {}

std::uint64_t ThresholdTable::hash(const ThresholdKey& key) const {
  return hash_words(seed_, {key.rule, key.source[0], key.source[1], key.destination[0], key.destination[1], key.flow,
                            std::uint64_t{key.is_rate}});
}

ThresholdTable::Entry& ThresholdTable::find(const ThresholdKey& key, std::uint64_t now) {
  const std::uint64_t first = hash(key);
  Entry* place = nullptr;
  const auto is_free = [now](const Entry& entry) { return !entry.is_used || entry.end <= now; };
  for (std::size_t i = 0; i < kProbes; ++i) {
    Entry& entry = entries_[(first + i) & (entries_.size() - 1)];
    if (entry.is_used && entry.key == key) return entry;
    if (place == nullptr || (!is_free(*place) && (is_free(entry) || entry.begin < place->begin))) place = &entry;
  }
  if (!is_free(*place)) ++evicted_;
  *place = Entry{};
  place->key = key;
  return *place;
}

bool ThresholdTable::exceeds_rate(const Threshold& rate, std::uint32_t timeout, const ThresholdKey& key,
                                  std::uint64_t now) {
  Entry& entry = find(key, now);
  if (entry.is_used && entry.active_since != 0) {
    if (now / kMicroseconds <= entry.active_since / kMicroseconds + timeout) return true;
    entry.active_since = 0;
    entry.end = entry.begin + rate.seconds * kMicroseconds;
    return false;
  }
  if (!entry.is_used || entry.end <= now) {
    entry.is_used = true;
    entry.begin = now;
    entry.end = now + rate.seconds * kMicroseconds;
    entry.matches = 0;
  }
  if (++entry.matches <= rate.count) return false;
  entry.active_since = now;
  entry.end = std::max(entry.end, now + (timeout + std::uint64_t{1}) * kMicroseconds);
  return true;
}

ThresholdOutcome ThresholdTable::count(const Threshold& threshold, const ThresholdKey& key, std::uint64_t now) {
  Entry& entry = find(key, now);
  if (!entry.is_used || entry.end <= now) {
    const bool is_backoff = threshold.type == Threshold::Type::backoff;
    entry.is_used = true;
    entry.begin = now;
    entry.end = is_backoff ? kNever : now + threshold.seconds * kMicroseconds;
    entry.matches = 0;
    entry.next_alert = threshold.count;
  }
  ++entry.matches;
  const auto after = [&entry](std::uint64_t count, bool alerts) {
    if (alerts) return ThresholdOutcome::alert;
    return entry.matches < count ? ThresholdOutcome::too_few : ThresholdOutcome::silent;
  };
  switch (threshold.type) {
    case Threshold::Type::limit:
      return after(0, entry.matches <= threshold.count);
    case Threshold::Type::both:
      return after(threshold.count, entry.matches == threshold.count);
    case Threshold::Type::detection_filter:
      return after(threshold.count + std::uint64_t{1}, entry.matches > threshold.count);
    case Threshold::Type::threshold: {
      const ThresholdOutcome outcome = after(threshold.count, entry.matches >= threshold.count);
      if (outcome == ThresholdOutcome::alert) entry.matches = 0;
      return outcome;
    }
    case Threshold::Type::backoff: {
      const ThresholdOutcome outcome = after(threshold.count, entry.matches == entry.next_alert);
      if (outcome == ThresholdOutcome::alert) entry.next_alert *= threshold.multiplier;
      return outcome;
    }
  }
  return ThresholdOutcome::alert;
}

}  // namespace penumbra::ids
