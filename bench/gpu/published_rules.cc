// SPDX-License-Identifier: Apache-2.0
#include "gpu/published_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/random.h"

namespace penumbra::bench::gpu {
namespace {

using Words = std::array<std::uint32_t, PublishedClass::kWords>;

/// Returns the 288 bits of the 12 fields; the upper half of the fourth word is unused.
Words narrowed(const RuleWords& from) {
  Words words{};
  std::size_t at = 0;
  for (std::size_t word = 0; word < kRuleWords; ++word) {
    if (word != 3) words[at++] = static_cast<std::uint32_t>(from[word] >> 32);
    words[at++] = static_cast<std::uint32_t>(from[word]);
  }
  return words;
}

PublishedSecrets secrets_of(Random& random) {
  PublishedSecrets secrets{};
  const auto odd = [&random] { return static_cast<std::uint32_t>(random.next()) | 1; };
  std::ranges::generate(secrets.tuple, odd);
  for (auto& pair : secrets.subtable) std::ranges::generate(pair, odd);
  for (auto& pair : secrets.filter) std::ranges::generate(pair, odd);
  return secrets;
}

struct Entry {
  Words value;
  std::uint32_t order;
};

/// Inserts a rule into the table, and moves other rules if necessary (cuckoo hashing). Returns false if no place is
/// found.
bool put(PublishedClass& to, const PublishedSecrets& secrets, Entry entry, Random& random) {
  for (unsigned moves = 0; moves < 2000; ++moves) {
    const std::uint32_t hash = published_hash(secrets, entry.value.data());
    const auto slot = [&](std::uint32_t subtable) -> PublishedClass::Slot& {
      return to.slot[subtable * PublishedClass::kSlots + published_slot(secrets, subtable, hash)];
    };
    PublishedClass::Slot* place = nullptr;
    for (std::uint32_t subtable = 0; subtable < PublishedClass::kSubtables && place == nullptr; ++subtable) {
      if (slot(subtable).order == 0) place = &slot(subtable);
    }
    const bool is_free = place != nullptr;
    if (!is_free) place = &slot(random.below(PublishedClass::kSubtables));
    Entry before{{}, place->order};
    std::ranges::copy(place->value, before.value.begin());
    std::ranges::copy(entry.value, place->value);
    place->order = entry.order;
    if (is_free) return true;
    entry = before;
  }
  return false;
}

std::optional<PublishedClass> make_class(const Words& mask, std::span<const Entry> entries,
                                         const PublishedSecrets& secrets, Random& random) {
  PublishedClass made{};
  std::ranges::copy(mask, made.mask);
  for (const Entry& entry : entries) {
    const std::uint32_t hash = published_hash(secrets, entry.value.data());
    for (std::uint32_t function = 0; function < PublishedClass::kFilterHashes; ++function) {
      const std::uint32_t bit = published_bit(secrets, function, hash);
      made.filter[bit / 32] |= 1U << bit % 32;
    }
    if (!put(made, secrets, entry, random)) return {};
  }
  return made;
}

/// Groups the rules by mask. make_classes() splits a mask with more rules than a class holds into several classes, as
/// in the paper. Of rules that match the same headers the highest rank is kept.
std::map<Words, std::map<Words, std::uint32_t>> by_masks(const RuleTask& task, std::span<const std::uint32_t> rule_of) {
  std::map<Words, std::map<Words, std::uint32_t>> masks;
  for (std::uint32_t order = 1; order < rule_of.size(); ++order) {
    const RuleMatch match = normalised(task.rules[rule_of[order] - 1].match, task.fields);
    if (match.has_ranges()) throw std::invalid_argument("published classes take no ranges");
    masks[narrowed(match.mask)][narrowed(match.value)] = order;
  }
  return masks;
}

/// Returns no classes if the hash functions leave a rule without a place.
std::vector<PublishedClass> make_classes(const RuleTask& task, std::span<const std::uint32_t> rule_of,
                                         const PublishedSecrets& secrets, Random& random) {
  std::vector<PublishedClass> classes;
  for (const auto& [mask, rules] : by_masks(task, rule_of)) {
    std::vector<Entry> entries;
    for (const auto& [value, order] : rules) entries.push_back({value, order});
    for (std::size_t at = 0; at < entries.size(); at += PublishedClass::kMostRules) {
      const std::size_t count = std::min<std::size_t>(PublishedClass::kMostRules, entries.size() - at);
      const auto made = make_class(mask, std::span(entries).subspan(at, count), secrets, random);
      if (!made) return {};
      classes.push_back(*made);
    }
  }
  return classes;
}

/// Tries hash functions until every rule has a place.
std::vector<PublishedClass> place_all(const RuleTask& task, std::span<const std::uint32_t> rule_of,
                                      PublishedSecrets& secrets, Random random) {
  constexpr unsigned kMostTries = 100;
  for (unsigned tries = 0; tries < kMostTries; ++tries) {
    secrets = secrets_of(random);
    auto classes = make_classes(task, rule_of, secrets, random);
    if (!classes.empty()) return classes;
  }
  throw std::runtime_error("no hash functions give every rule of the published design a place");
}

std::vector<std::uint32_t> ranked(const RuleTask& task) {
  std::vector<std::uint32_t> rule_of(task.rules.size() + 1);
  std::iota(rule_of.begin(), rule_of.end(), 0U);
  std::sort(rule_of.begin() + 1, rule_of.end(),
            [&](std::uint32_t one, std::uint32_t other) { return rank_at(task, one - 1) < rank_at(task, other - 1); });
  return rule_of;
}

DeviceArray<PublishedClass> on_the_gpu(std::vector<PublishedClass> classes) {
  DeviceArray<PublishedClass> there(classes.size());
  copy_now(there.data(), std::span<const PublishedClass>(classes));
  return there;
}

}  // namespace

PublishedRules::PublishedRules(const RuleTask& task, std::uint32_t batch, std::uint64_t seed)
    : batch_(batch),
      headers_(task.headers.size()),
      rule_of_(ranked(task)),
      classes_(on_the_gpu(place_all(task, rule_of_, secrets_, Random(seed)))),
      words_(headers_ * PublishedClass::kWords),
      answers_(headers_),
      gpu_words_(words_.size()),
      gpu_answers_(headers_) {
  for (std::size_t i = 0; i < headers_; ++i) {
    const Words words = narrowed(task.headers[i]);
    const std::size_t in_batch = i % batch_, begin = (i - in_batch) * PublishedClass::kWords;
    for (std::size_t word = 0; word < words.size(); ++word) words_[begin + word * batch_ + in_batch] = words[word];
  }
  copy_now(gpu_words_.data(), words_.span());
}

void PublishedRules::launch(std::size_t first, bool with_filter, unsigned threads, const Stream& stream) const {
  gpu::check(launch_published(classes_.data(), static_cast<std::uint32_t>(classes_.size()),
                              gpu_words_.data() + first * PublishedClass::kWords, gpu_answers_.data() + first, batch_,
                              secrets_, with_filter, threads, stream.get()),
             "launching the published design");
}

void PublishedRules::classify(bool with_filter, unsigned threads) const {
  for (std::size_t first = 0; first < headers_; first += batch_) launch(first, with_filter, threads, streams_[0]);
}

void PublishedRules::classify_with_copies(unsigned threads) const {
  for (std::size_t first = 0; first < headers_; first += batch_) {
    const Stream& stream = streams_[first / batch_ % kStreams];
    const std::size_t begin = first * PublishedClass::kWords;
    stream.copy(gpu_words_.data() + begin, words_.data() + begin,
                std::size_t{batch_} * PublishedClass::kWords * sizeof(std::uint32_t));
    launch(first, true, threads, stream);
    stream.copy(answers_.data() + first, gpu_answers_.data() + first, batch_ * sizeof(std::uint32_t));
  }
  for (const Stream& stream : streams_) stream.wait();
}

void PublishedRules::check_orders(std::span<const std::uint32_t> right, std::span<const std::uint32_t> orders) const {
  for (std::size_t i = 0; i < headers_; ++i) {
    if (orders[i] < rule_of_.size() && rule_of_[orders[i]] == right[i]) continue;
    throw WrongAnswer(
        fmt::format("the published design: header {} has order {}, right is rule {}", i, orders[i], right[i]));
  }
}

void PublishedRules::check(const std::vector<std::uint32_t>& right, bool with_filter, unsigned threads) const {
  gpu::check(cudaMemsetAsync(gpu_answers_.data(), 0xA5, gpu_answers_.bytes(), streams_[0].get()), "wiping out");
  classify(with_filter, threads);
  wait();
  std::vector<std::uint32_t> found(headers_);
  copy_now(found.data(), gpu_answers_.span());
  check_orders(right, found);
  if (!with_filter) return;
  std::ranges::fill(answers_.span(), ~0U);
  classify_with_copies(threads);
  check_orders(right, answers_.span());
}

}  // namespace penumbra::bench::gpu
