// SPDX-License-Identifier: Apache-2.0
#include "tables/rules_tuple/subtable_filters.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

namespace penumbra {
namespace {

/// Size of the address space. One million rules take at most 2^21 words, plus free runs of other sizes from before.
constexpr std::size_t kMostWords = std::size_t{2} << (64 - RULES_PREFILTER_BEGIN);
constexpr std::uint32_t kFirstWordRoom = 1024;
/// A count of this many rules or more is no longer maintained, and the bit stays set until the filter is made again. In
/// a prefilter this happens if many rules have the same half.
constexpr std::uint8_t kMany = std::numeric_limits<std::uint8_t>::max();

}  // namespace

std::uint32_t SubtableFilters::bits_per_rule_for(std::size_t subtables) {
  if (subtables <= 16) return 8;
  return subtables <= 256 ? 16 : 32;
}

SubtableFilters::SubtableFilters(SubtableList& subtables, std::size_t words, const SparseWords& secrets,
                                 GracePeriods& grace_periods, std::optional<std::uint32_t> bits_per_rule)
    : subtables_(subtables),
      secrets_(secrets),
      sample_(words, Random::mixed(secrets.front())),
      bits_per_rule_(bits_per_rule),
      words_(kMostWords),
      room_(kFirstWordRoom),
      old_(grace_periods) {
  words_[0] = ~std::uint64_t{0};
}

void SubtableFilters::append_region(Table& table, std::size_t offset, std::vector<TableRegion>& regions) {
  if (table_ == nullptr) {
    table_ = &table;
    changes_ = TableChanges<std::uint64_t>(regions.size());
  }
  regions.push_back({offset, reinterpret_cast<const std::byte*>(words_.data()), room_ * sizeof(std::uint64_t)});
}

bool SubtableFilters::has_to_grow(const Subtable& of) const {
  if (of.filter == 0) return of.rules == 0;
  return (of.rules + 1) * std::size_t{of.bits_per_rule} > of.counts.size() / 2;
}

bool SubtableFilters::is_coarse(const Subtable& of) const {
  return of.filter != 0 && of.bits_per_rule < bits_per_rule();
}

unsigned SubtableFilters::bits_for(const Subtable& of) const {
  unsigned bits = 0;
  while ((std::size_t{64} << bits) < (of.rules + 1) * std::size_t{bits_per_rule()}) ++bits;
  return bits + 1;
}

bool SubtableFilters::make_room(const Subtable& of) {
  const unsigned bits = bits_for(of);
  const std::size_t end = end_ + (std::size_t{1} << bits);
  if (!free_[bits].empty() || end > kMostWords || end <= room_) return false;
  while (room_ < end) room_ *= 2;
  return true;
}

std::vector<SparseWords> SubtableFilters::headers_of(const Subtable& of) const {
  std::vector<SparseWords> headers;
  for (const SparseWords& header : sample_.headers()) headers.push_back(of.used.gathered(header));
  return headers;
}

void SubtableFilters::add(Subtable& of, const SparseWords& value) {
  sample_.show(of.used.scattered(of.mask), of.used.scattered(value));
  if (of.filter != 0) count(of, of.filter, of.prefilter, of.counts, value);
}

void SubtableFilters::remove(Subtable& of, const SparseWords& value) {
  if (of.filter == 0) return;
  for_each_bit(of, of.filter, of.prefilter, value, [&](std::uint64_t word, std::uint32_t bit) {
    std::uint8_t& rules = of.counts[(word - run_of(of.prefilter).begin) * 64 + bit];
    if (rules == kMany || --rules > 0) return;
    write(word, words_[word] & ~(std::uint64_t{1} << bit));
  });
}

void SubtableFilters::drop(Subtable& of) {
  if (of.filter == 0) return;
  old_.add(run_of(of.prefilter));
  counts_ -= of.counts.size();
}

void SubtableFilters::reclaim() {
  old_.take([this](Run run) { free_[run.bits].push_back(run.begin); });
}

/// Readers may still use the old filter or prefilter, which lack no rule of the readers' states.
void SubtableFilters::replace(Subtable& of, std::uint64_t filter, std::uint64_t prefilter, std::uint32_t bits_per_rule,
                              std::vector<std::uint8_t> counts) {
  drop(of);
  of.bits_per_rule = bits_per_rule;
  of.counts = std::move(counts);
  counts_ += of.counts.size();
  subtables_.set_filters(of, filter, prefilter);
}

SubtableFilters::Run SubtableFilters::run_of(std::uint64_t prefilter) {
  return {.begin = rules_prefilter_place(prefilter, 0) / 2, .bits = (31 - rules_prefilter_shift(prefilter)) + 1};
}

std::uint64_t SubtableFilters::describe_filter(Run run) {
  const std::uint64_t words = std::uint64_t{1} << (run.bits - 1);
  return (run.begin + words) << RULES_BLOOM_BEGIN | words;
}

SubtableFilters::Run SubtableFilters::take(unsigned bits) {
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
void SubtableFilters::for_each_bit(const Subtable& of, std::uint64_t filter, std::uint64_t prefilter,
                                   const SparseWords& value, Visit visit) const {
  const std::uint32_t hash = rules_bloom_hash(secrets_.data(), value.data(), of.mask.data(), 1, of.used.count());
  for (std::uint32_t function = 0; function < RULES_BLOOM_HASHES; ++function) {
    visit(rules_bloom_word(filter, hash), rules_bloom_bit(hash, function));
  }
  for_each_prefilter_bit(secrets_.data(), prefilter, value, visit);
}

void SubtableFilters::count(const Subtable& of, std::uint64_t filter, std::uint64_t prefilter,
                            std::vector<std::uint8_t>& counts, const SparseWords& value) {
  for_each_bit(of, filter, prefilter, value, [&](std::uint64_t word, std::uint32_t bit) {
    std::uint8_t& rules = counts[(word - run_of(prefilter).begin) * 64 + bit];
    if (rules == kMany || ++rules > 1) return;
    write(word, words_[word] | std::uint64_t{1} << bit);
  });
}

void SubtableFilters::write(std::uint64_t word, std::uint64_t bits) {
  std::atomic_ref(words_[word]).store(bits, std::memory_order_relaxed);
  changes_.add(*table_, word);
}

}  // namespace penumbra
