// SPDX-License-Identifier: Apache-2.0
#include "shaders/rules_tuple/class_filters.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

namespace penumbra {
namespace {

/// Address space: 1 M rules take 2^21 words at the most, and runs of other sizes lie free that they had before.
constexpr std::size_t kMostWords = std::size_t{2} << (64 - RULES_SIEVE_BEGIN);
constexpr std::uint32_t kFirstWordRoom = 1024;
/// So many rules or more: a count that is no longer kept. The bit stays until the filter is made anew. In a sieve that
/// is so wherever many rules have one value of its half.
constexpr std::uint8_t kMany = std::numeric_limits<std::uint8_t>::max();

}  // namespace

std::uint32_t ClassFilters::bits_per_rule_for(std::size_t classes) {
  if (classes <= 16) return 8;
  return classes <= 256 ? 16 : 32;
}

ClassFilters::ClassFilters(ClassList& classes, std::size_t words, const std::array<std::uint64_t, RULES_WORDS>& secrets,
                           GracePeriods& grace_periods, std::optional<std::uint32_t> bits_per_rule)
    : classes_(classes),
      key_words_(words),
      secrets_(secrets),
      sample_(words, Random::mixed(secrets.front())),
      bits_per_rule_(bits_per_rule),
      words_(kMostWords),
      room_(kFirstWordRoom),
      old_(grace_periods) {
  words_[0] = ~std::uint64_t{0};
}

void ClassFilters::append_region(Table& table, std::size_t offset, std::vector<TableRegion>& regions) {
  if (table_ == nullptr) {
    table_ = &table;
    changes_ = TableChanges<std::uint64_t>(regions.size());
  }
  regions.push_back({offset, reinterpret_cast<const std::byte*>(words_.data()), room_ * sizeof(std::uint64_t)});
}

bool ClassFilters::has_to_grow(const RuleClass& of) const {
  if (of.filter == 0) return of.rules == 0;
  return (of.rules + 1) * std::size_t{of.bits_per_rule} > of.counts.size() / 2;
}

bool ClassFilters::is_coarse(const RuleClass& of) const {
  return of.filter != 0 && of.bits_per_rule < bits_per_rule();
}

unsigned ClassFilters::bits_for(const RuleClass& of) const {
  unsigned bits = 0;
  while ((std::size_t{64} << bits) < (of.rules + 1) * std::size_t{bits_per_rule()}) ++bits;
  return bits + 1;
}

bool ClassFilters::make_room(const RuleClass& of) {
  const unsigned bits = bits_for(of);
  const std::size_t end = end_ + (std::size_t{1} << bits);
  if (!free_[bits].empty() || end > kMostWords || end <= room_) return false;
  while (room_ < end) room_ *= 2;
  return true;
}

void ClassFilters::add(RuleClass& of, const std::uint64_t* value) {
  sample_.show(of.mask, value);
  if (of.filter != 0) count(of, of.filter, of.sieve, of.counts, value);
}

void ClassFilters::remove(RuleClass& of, const std::uint64_t* value) {
  if (of.filter == 0) return;
  for_each_bit(of, of.filter, of.sieve, value, [&](std::uint64_t word, std::uint32_t bit) {
    std::uint8_t& rules = of.counts[(word - run_of(of.sieve).begin) * 64 + bit];
    if (rules == kMany || --rules > 0) return;
    write(word, words_[word] & ~(std::uint64_t{1} << bit));
  });
}

void ClassFilters::drop(RuleClass& of) {
  if (of.filter == 0) return;
  old_.add(run_of(of.sieve));
  counts_ -= of.counts.size();
}

void ClassFilters::reclaim() {
  old_.take([this](Run run) { free_[run.bits].push_back(run.begin); });
}

/// Readers that have found the old filter or sieve go on in it: it lacks no rule of their states.
void ClassFilters::replace(RuleClass& of, std::uint64_t filter, std::uint64_t sieve, std::uint32_t bits_per_rule,
                           std::vector<std::uint8_t> counts) {
  drop(of);
  of.bits_per_rule = bits_per_rule;
  of.counts = std::move(counts);
  counts_ += of.counts.size();
  classes_.set_filters(of, filter, sieve);
}

ClassFilters::Run ClassFilters::run_of(std::uint64_t sieve) {
  return {.begin = rules_sieve_place(sieve, 0) / 2, .bits = (31 - rules_sieve_shift(sieve)) + 1};
}

std::uint64_t ClassFilters::describe_filter(Run run) {
  const std::uint64_t words = std::uint64_t{1} << (run.bits - 1);
  return (run.begin + words) << RULES_BLOOM_BEGIN | words;
}

ClassFilters::Run ClassFilters::take(unsigned bits) {
  const std::uint32_t words = 1U << bits;
  if (!free_[bits].empty()) {
    const Run run{.begin = free_[bits].back(), .bits = bits};
    free_[bits].pop_back();
    for (std::uint32_t word = run.begin; word < run.begin + words; ++word) write(word, 0);
    return run;
  }
  if (words > kMostWords - end_) return {};
  const Run run{.begin = end_, .bits = bits};
  end_ += words;
  return run;
}

template <class Visit>
void ClassFilters::for_each_bit(const RuleClass& of, std::uint64_t filter, std::uint64_t sieve,
                                const std::uint64_t* value, Visit visit) const {
  const std::uint32_t hash =
      rules_bloom_hash(secrets_.data(), value, of.mask.data(), 1, static_cast<std::uint32_t>(key_words_));
  for (std::uint32_t function = 0; function < RULES_BLOOM_HASHES; ++function) {
    visit(rules_bloom_word(filter, hash), rules_bloom_bit(hash, function));
  }
  for_each_sieve_bit(secrets_.data(), sieve, value, visit);
}

void ClassFilters::count(const RuleClass& of, std::uint64_t filter, std::uint64_t sieve,
                         std::vector<std::uint8_t>& counts, const std::uint64_t* value) {
  for_each_bit(of, filter, sieve, value, [&](std::uint64_t word, std::uint32_t bit) {
    std::uint8_t& rules = counts[(word - run_of(sieve).begin) * 64 + bit];
    if (rules == kMany || ++rules > 1) return;
    write(word, words_[word] | std::uint64_t{1} << bit);
  });
}

void ClassFilters::write(std::uint64_t word, std::uint64_t bits) {
  std::atomic_ref(words_[word]).store(bits, std::memory_order_relaxed);
  changes_.add(*table_, word);
}

}  // namespace penumbra
