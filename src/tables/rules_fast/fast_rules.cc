// SPDX-License-Identifier: Apache-2.0
#include "tables/rules_fast/fast_rules.h"

#include <algorithm>
#include <stdexcept>

#include "tables/rules/rule_structures.h"
#include "tables/rules_fast/rule_tree.h"

namespace penumbra {
namespace {

[[maybe_unused]] const bool kFast = register_rule_structure(
    {.name = "fast",
     .summary = "hash tables over chosen bits, and small leaves that are compared at once; for cores",
     .create = [](RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods) -> std::unique_ptr<RuleTable> {
       return std::make_unique<FastRules>(fields, seed, grace_periods);
     }});

}  // namespace

FastRules::FastRules(RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods)
    : fields_(fields),
      seed_(seed),
      grace_periods_(grace_periods),
      table_(fields == RuleFields::ipv4 ? "rules_fast_narrow" : "rules_fast_wide"),
      entries_(1) {
  make_version(rules_fast::Care::thorough);
}

FastRules::~FastRules() = default;

void FastRules::insert(std::uint32_t number, const RuleMatch& match, std::uint64_t rank) {
  if (number == RULES_NONE || number > kMostRules || rank == 0) {
    throw std::invalid_argument("rules are numbered from 1 to " + std::to_string(kMostRules) + ", and have a rank");
  }
  if (number >= entries_.size()) entries_.resize(number + 1);
  Entry& entry = entries_[number];
  if (entry.use == Use::dying) version_->tidy(false);
  if (entry.use == Use::dying) version_->tidy(true);
  // A rule that cannot be removed now is not in the version that the next commit makes.
  const bool is_free = entry.use == Use::free || (entry.use == Use::dying && version_->is_worn());
  if (!is_free) throw std::invalid_argument("there is a rule " + std::to_string(number));
  coming_.push_back(number);
  entry = {.match = match, .rank = rank, .entry = 0, .group = 0, .use = Use::coming};
}

void FastRules::remove(std::uint32_t number) {
  Entry* entry = number < entries_.size() ? &entries_[number] : nullptr;
  if (entry != nullptr && entry->use == Use::coming) {
    entry->use = Use::cancelled;
    return;
  }
  if (entry == nullptr || (entry->use != Use::fresh && entry->use != Use::settled)) {
    throw std::invalid_argument("there is no rule " + std::to_string(number));
  }
  leaving_.push_back(number);
  entry->use = Use::leaving;
}

void FastRules::commit() {
  let_old_ones_go(false);
  version_->tidy(false);
  std::erase_if(coming_, [this](std::uint32_t number) {
    Use& use = entries_[number].use;
    if (use != Use::cancelled) return false;
    use = Use::free;
    return true;
  });
  if (coming_.empty() && leaving_.empty()) return;
  const bool are_many = coming_.size() + leaving_.size() > 64 + size_ / 2;
  bool is_new = version_->is_worn() || are_many;
  size_ += coming_.size() - leaving_.size();
  if (!is_new) {
    for (const std::uint32_t number : leaving_) version_->let_die(number);
    is_new = !std::ranges::all_of(coming_, [this](std::uint32_t number) { return version_->add(number); });
    if (!is_new) version_->commit();
  }
  if (is_new) make_version(are_many ? rules_fast::Care::thorough : rules_fast::Care::hasty);
  coming_.clear();
  leaving_.clear();
}

/// Makes and publishes a version of all rules that are in force after the current commit.
void FastRules::make_version(rules_fast::Care care) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(size_);
  for (std::uint32_t number = 1; number < entries_.size(); ++number) {
    Entry& entry = entries_[number];
    if (entry.use == Use::coming || entry.use == Use::fresh || entry.use == Use::settled) {
      entry.use = Use::settled;
      numbers.push_back(number);
    } else {
      entry.use = Use::free;
    }
  }
  std::ranges::sort(numbers, [this](std::uint32_t a, std::uint32_t b) { return entries_[a].rank > entries_[b].rank; });
  const bool is_like_before = version_ != nullptr && !version_->is_out_of_date();
  auto next =
      std::make_unique<Version>(fields_, seed_, grace_periods_, entries_, numbers,
                                is_like_before ? std::span(version_->bits()) : std::span<const RuleWords>{}, care);
  next->publish_to(table_);
  table_.commit();
  if (version_ != nullptr) old_.emplace_back(grace_periods_.start(), std::move(version_));
  version_ = std::move(next);
  ++versions_;
}

void FastRules::let_old_ones_go(bool wait) {
  std::erase_if(old_, [&](const auto& old) { return grace_periods_.elapsed(old.first, wait); });
}

std::size_t FastRules::memory_bytes() const {
  std::size_t bytes = version_->bytes() + entries_.size() * sizeof(Entry);
  for (const auto& old : old_) bytes += old.second->bytes();
  return bytes;
}

}  // namespace penumbra
