// SPDX-License-Identifier: Apache-2.0
#include "tables/rules_tuple/tuple_rules.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <utility>

#include "base/random.h"
#include "tables/rules/rule_structures.h"

namespace penumbra {
namespace {

static_assert(offsetof(rules_tuple_view, cuckoo) == 0, "so that the regions' offsets are right");

template <TupleRules::Search search>
std::unique_ptr<RuleTable> make_tuple_rules(RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods) {
  return std::make_unique<TupleRules>(search, fields, seed, grace_periods);
}

[[maybe_unused]] const bool kTuple =
    register_rule_structure({.name = "tuple",
                             .summary = "a look-up for each class of rules, those with one mask",
                             .create = make_tuple_rules<TupleRules::Search::tuple>});
[[maybe_unused]] const bool kBloom =
    register_rule_structure({.name = "bloom",
                             .summary = "the same, where a Bloom filter of the class says that it may find something",
                             .create = make_tuple_rules<TupleRules::Search::bloom>});

/// Number of subtables that a change pays to sort.
constexpr std::size_t kCredit = 32;
/// Cost of making a filter relative to one pass over the subtable's rules.
constexpr std::size_t kFilterWork = 8;

std::string shader_name(TupleRules::Search search, RuleFields fields) {
  return std::string(search == TupleRules::Search::tuple ? "rules_tuple_" : "rules_bloom_") +
         (fields == RuleFields::ipv4 ? "narrow" : "wide");
}

CuckooTable::Shape shape_of_values() {
  return {.digest_bits = RULES_TUPLE_DIGEST_BITS,
          .value_bits = static_cast<unsigned>(std::bit_width(kMostRules)),
          .most = kMostRules};
}

/// Both halves of a secret are odd, so that a product with them loses no bit.
SparseWords secrets_of_rules(std::uint64_t seed) {
  constexpr std::uint64_t kOddHalves = std::uint64_t{1} << 32 | 1;
  SparseWords secrets{};
  std::ranges::generate(secrets, [random = Random(seed)]() mutable { return random.next() | kOddHalves; });
  return secrets;
}

}  // namespace

TupleRules::TupleRules(Search search, RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods,
                       std::uint32_t last_state, std::optional<std::uint32_t> filter_bits)
    : TupleRules(search, shader_name(search, fields), words_of(fields), false, seed, grace_periods, last_state,
                 filter_bits) {}

TupleRules::TupleRules(Search search, Sparse /*sparse*/, std::uint64_t seed, GracePeriods& grace_periods,
                       std::uint32_t last_state)
    : TupleRules(search, search == Search::tuple ? "rules_tuple_sparse" : "rules_bloom_sparse", RULES_SPARSE_WORDS,
                 true, seed, grace_periods, last_state, {}) {}

TupleRules::TupleRules(Search search, std::string shader, std::size_t words, bool is_sparse, std::uint64_t seed,
                       GracePeriods& grace_periods, std::uint32_t last_state, std::optional<std::uint32_t> filter_bits)
    : shader_(std::move(shader)),
      words_(words),
      grace_periods_(grace_periods),
      is_sparse_(is_sparse),
      secrets_(secrets_of_rules(seed)),
      records_(
          grace_periods, [this](std::uint32_t number) { unlink(number); }, last_state),
      subtables_(words_, is_sparse, Random::mixed(seed), grace_periods),
      links_(kMostRules + 1),
      more_(is_sparse ? std::size_t{kMostRules + 1} * RULES_SPARSE_MORE : 0),
      sparse_secrets_(is_sparse ? RULES_SPARSE_WORDS : 0),
      cuckoo_(
          shader_, shape_of_values(), seed, grace_periods,
          [this, search, filter_bits](Table& table, const cuckoo_table_view& cuckoo, std::vector<TableRegion> regions) {
            if (search == Search::bloom && !filters_) {
              filters_.emplace(subtables_, words_, secrets_, grace_periods_, filter_bits);
            }
            cuckoo_view_ = cuckoo;
            cuckoo_regions_ = std::move(regions);
            publish(table);
          }) {}

/// Nobody reads the view before the current one any more: every publication waits for a grace period.
void TupleRules::publish(Table& table) {
  view_ = 1 - view_;
  rules_tuple_view& next = views_[view_];
  next = {.cuckoo = cuckoo_view_,
          .record = records_.data(),
          .ports = records_.ports(),
          .state = records_.state(),
          .list = subtables_.arrays().list.data(),
          .subtables = subtables_.arrays().subtables.data(),
          .group = subtables_.arrays().groups.data(),
          .filter = filters_ ? filters_->words() : nullptr,
          .more = is_sparse_ ? more_.data() : nullptr,
          .sparse_secret = is_sparse_ ? sparse_secrets_.data() : nullptr,
          .secret = {}};
  std::copy_n(secrets_.begin(), RULES_WORDS, next.secret);
  std::vector<TableRegion> regions = cuckoo_regions_;
  records_.append_regions(table,
                          {.record = offsetof(rules_tuple_view, record),
                           .ports = offsetof(rules_tuple_view, ports),
                           .state = offsetof(rules_tuple_view, state)},
                          regions);
  subtables_.append_regions(table,
                            {.list = offsetof(rules_tuple_view, list),
                             .subtables = offsetof(rules_tuple_view, subtables),
                             .group = offsetof(rules_tuple_view, group)},
                            regions);
  if (filters_) filters_->append_region(table, offsetof(rules_tuple_view, filter), regions);
  if (is_sparse_) {
    more_changes_ = TableChanges<std::uint64_t>(regions.size());
    regions.push_back({offsetof(rules_tuple_view, more), reinterpret_cast<const std::byte*>(more_.data()),
                       std::size_t{records_.room()} * RULES_SPARSE_MORE * sizeof(std::uint64_t)});
    std::ranges::copy(secrets_, sparse_secrets_.begin());
    regions.push_back({offsetof(rules_tuple_view, sparse_secret),
                       reinterpret_cast<const std::byte*>(sparse_secrets_.data()), sparse_secrets_.bytes()});
  }
  table.publish(next, std::move(regions));
}

void TupleRules::publish_and_wait() {
  publish(table());
  grace_periods_.elapsed(grace_periods_.start(), true);
}

void TupleRules::insert(std::uint32_t number, const RuleMatch& match, std::uint64_t rank) {
  const auto sparse = [](const RuleWords& words) {
    SparseWords wide{};
    std::ranges::copy(words, wide.begin());
    return wide;
  };
  if (records_.make_room(number)) publish_and_wait();
  const RuleMatch nesting = nested(match);
  insert(number, subtable_of(sparse(nesting.mask)), sparse(nesting.value), match, rank);
}

void TupleRules::insert(std::uint32_t number, const SparseMatch& match, std::uint64_t rank) {
  if (records_.make_room(number)) publish_and_wait();
  Subtable& of = subtable_of(match.mask);
  insert(number, of, of.used.gathered(match.value), RuleMatch{}, rank);
}

void TupleRules::insert(std::uint32_t number, Subtable& of, const SparseWords& value, const RuleMatch& match,
                        std::uint64_t rank) {
  if (filters_ && filters_->has_to_grow(of)) make_filter(*filters_, of, &value);
  if (cuckoo_.size() * 4 >= cuckoo_.slots() * 3) cuckoo_.reserve(cuckoo_.slots());
  RuleWords first;
  std::copy_n(value.begin(), first.size(), first.begin());
  records_.add(number, first, match, rank, of.number << 1 | (match.has_ranges() ? RULES_TUPLE_HAS_RANGES : 0));
  if (of.used.count() > RULES_WORDS) write_more(number, value);
  try {
    link(number, of);
  } catch (...) {
    records_.forget(number);
    throw;
  }
}

void TupleRules::remove(std::uint32_t number) {
  records_.remove(number);
  credit_ += kCredit;
}

void TupleRules::commit() {
  records_.reclaim();
  if (filters_) filters_->reclaim();
  sort_subtables();
  subtables_.announce();
  if (filters_) filters_->announce();
  more_changes_.flush(table());
  records_.commit();
}

/// Readers may read the words only of rules of older states, which never had them.
void TupleRules::write_more(std::uint32_t number, const SparseWords& value) {
  for (std::size_t i = 0; i < RULES_SPARSE_MORE; ++i) {
    const std::size_t index = std::size_t{number} * RULES_SPARSE_MORE + i;
    std::atomic_ref(more_[index]).store(value[RULES_WORDS + i], std::memory_order_relaxed);
    more_changes_.add(table(), index);
  }
}

SparseWords TupleRules::value_of(std::uint32_t number) const {
  SparseWords value{};
  std::ranges::copy(records_[number].value, value.begin());
  if (is_sparse_) std::copy_n(&more_[std::size_t{number} * RULES_SPARSE_MORE], RULES_SPARSE_MORE, &value[RULES_WORDS]);
  return value;
}

/// Returns value and mask with the bits that all ports of a range share, if the mask has no bits of that port.
RuleMatch TupleRules::nested(const RuleMatch& match) const {
  RuleMatch nesting{.value = match.value, .mask = match.mask, .source_ports = {}, .destination_ports = {}};
  std::uint64_t& value = nesting.value[words_ - 1];
  std::uint64_t& mask = nesting.mask[words_ - 1];
  const auto nest = [&](const PortRange& range, unsigned shift) {
    if ((mask >> shift & 0xFFFF) != 0) return;
    const auto differing = static_cast<unsigned>(range.first ^ range.last);
    const std::uint64_t common = 0xFFFF & ~(std::bit_ceil(differing + 1) - 1);
    mask |= common << shift;
    value |= (range.first & common) << shift;
  };
  nest(match.source_ports, kSourcePortShift);
  nest(match.destination_ports, kDestinationPortShift);
  return nesting;
}

Subtable& TupleRules::subtable_of(const SparseWords& mask) {
  if (Subtable* const found = subtables_.find(mask); found != nullptr) return *found;
  if (subtables_.is_full()) {
    const SubtableList::Arrays old = subtables_.grow();
    publish_and_wait();
  }
  return subtables_.append(mask);
}

std::uint64_t TupleRules::digest_of(const Subtable& of, const SparseWords& value) const {
  return rules_tuple_digest(
      rules_tuple_hash(secrets_.data(), value.data(), of.mask.data(), 1, of.used.count(), of.salt));
}

/// `coming` is as in SubtableFilters::make().
void TupleRules::make_filter(SubtableFilters& filters, Subtable& of, const SparseWords* coming) {
  if (filters.make_room(of)) publish_and_wait();
  filters.make(of, coming, [&](auto take) {
    for (std::uint32_t each = of.first; each != RULES_NONE; each = links_[each].after) {
      take(value_of(each));
    }
  });
}

/// Puts a rule at the front of its chain and into its subtable. Throws like CuckooTable::insert(), before any change.
void TupleRules::link(std::uint32_t number, Subtable& of) {
  const SparseWords value = value_of(number);
  const std::uint64_t digest = digest_of(of, value);
  const std::uint32_t next = cuckoo_.find(digest);
  records_.set_next(number, next);
  cuckoo_.insert(digest, number);
  links_[number] = {.previous = RULES_NONE, .before = RULES_NONE, .after = of.first};
  if (next != RULES_NONE) links_[next].previous = number;
  if (of.first != RULES_NONE) links_[of.first].before = number;
  of.first = number;
  ++of.rules;
  subtables_.raise(of, records_[number].rank);
  if (filters_) filters_->add(of, value);
  credit_ += kCredit;
}

void TupleRules::unlink(std::uint32_t number) {
  const rules_record& record = records_[number];
  Subtable& of = subtables_[record.ranges >> 1];
  const SparseWords value = value_of(number);
  const std::uint64_t digest = digest_of(of, value);
  const Links& links = links_[number];
  if (links.previous != RULES_NONE) {
    records_.set_next(links.previous, record.next);
  } else if (record.next != RULES_NONE) {
    cuckoo_.insert(digest, record.next);
  } else {
    cuckoo_.remove(digest);
  }
  if (record.next != RULES_NONE) links_[record.next].previous = links.previous;
  (links.before != RULES_NONE ? links_[links.before].after : of.first) = links.after;
  if (links.after != RULES_NONE) links_[links.after].before = links.before;
  --of.rules;
  subtables_.lower(of, record.rank);
  if (filters_) filters_->remove(of, value);
}

/// Updates the list of subtables, their bounds and filters, as far as the changes have paid for the work. Unpaid work
/// waits: the list is not written again before the credit covers the cheapest unpaid work.
void TupleRules::sort_subtables() {
  const std::size_t most = kFilterWork * (subtables_.size() + records_.size());
  credit_ = std::min(credit_, most);
  if (credit_ < std::min(std::max(subtables_.size(), needed_), most) || !subtables_.can_be_sorted()) return;
  credit_ -= std::min(credit_, subtables_.size());
  std::size_t cheapest = 0;
  const auto pay = [&](std::size_t work) {
    if (work <= credit_) {
      credit_ -= work;
      return true;
    }
    cheapest = cheapest == 0 ? work : std::min(cheapest, work);
    return false;
  };
  subtables_.for_each([&](Subtable& of) {
    if (of.best_has_gone && pay(of.rules)) find_best(of);
    if (filters_ && filters_->is_coarse(of) && pay(kFilterWork * of.rules)) make_filter(*filters_, of);
  });
  needed_ = cheapest == 0 ? 0 : subtables_.size() + cheapest;
  subtables_.sort([this](Subtable& of) {
    if (filters_) filters_->drop(of);
  });
}

void TupleRules::find_best(Subtable& of) {
  of.best = 0;
  of.best_has_gone = false;
  for (std::uint32_t each = of.first; each != RULES_NONE; each = links_[each].after) {
    of.best = std::max(of.best, records_[each].rank);
  }
}

std::size_t TupleRules::memory_bytes() const {
  return records_.memory_bytes() + subtables_.memory_bytes() + cuckoo_.memory_bytes() + records_.end() * sizeof(Links) +
         (filters_ ? filters_->memory_bytes() : 0) +
         (is_sparse_ ? std::size_t{records_.end()} * RULES_SPARSE_MORE * sizeof(std::uint64_t) : 0);
}

}  // namespace penumbra
