// SPDX-License-Identifier: Apache-2.0
#include "tables/rules_linear/linear_rules.h"

#include <atomic>
#include <utility>
#include <vector>

#include "tables/rules/rule_structures.h"

namespace penumbra {
namespace {

[[maybe_unused]] const bool kLinear =
    register_rule_structure({.name = "linear",
                             .summary = "every rule is tried",
                             .create = [](RuleFields fields, std::uint64_t /*seed*/,
                                          GracePeriods& grace_periods) -> std::unique_ptr<RuleTable> {
                               return std::make_unique<LinearRules>(fields, grace_periods);
                             }});

}  // namespace

LinearRules::LinearRules(RuleFields fields, GracePeriods& grace_periods, std::uint32_t last_state)
    : words_(words_of(fields)),
      grace_periods_(grace_periods),
      table_(fields == RuleFields::ipv4 ? "rules_linear_narrow" : "rules_linear_wide"),
      records_(
          grace_periods, [](std::uint32_t /*number*/) {}, last_state),
      masks_((kMostRules + 1) * words_) {
  publish();
}

/// Publishes the regions again so that mirrors learn that they have grown; their addresses stay the same.
void LinearRules::publish() {
  view_ = 1 - view_;
  views_[view_] = {.record = records_.data(),
                   .ports = records_.ports(),
                   .mask = masks_.data(),
                   .state = records_.state(),
                   .end = end_.data()};
  const auto bytes = [](const auto* data) { return reinterpret_cast<const std::byte*>(data); };
  std::vector<TableRegion> regions;
  records_.append_regions(table_,
                          {.record = offsetof(rules_linear_view, record),
                           .ports = offsetof(rules_linear_view, ports),
                           .state = offsetof(rules_linear_view, state)},
                          regions);
  regions.push_back(
      {offsetof(rules_linear_view, mask), bytes(masks_.data()), records_.room() * words_ * sizeof(std::uint64_t)});
  regions.push_back({offsetof(rules_linear_view, end), bytes(end_.data()), sizeof end_});
  table_.publish(views_[view_], std::move(regions));
}

void LinearRules::insert(std::uint32_t number, const RuleMatch& match, std::uint64_t rank) {
  if (records_.make_room(number)) {
    publish();
    // The next publish() overwrites the previous view, so its readers must be gone.
    grace_periods_.elapsed(grace_periods_.start(), true);
  }
  records_.add(number, match.value, match, rank, 0);
  for (std::size_t word = 0; word < words_; ++word) {
    const std::size_t index = number * words_ + word;
    std::atomic_ref(masks_[index]).store(match.mask[word], std::memory_order_relaxed);
    mask_changes_.add(table_, index);
  }
}

void LinearRules::commit() {
  records_.reclaim();
  mask_changes_.flush(table_);
  std::atomic_ref(end_[0]).store(records_.end(), std::memory_order_relaxed);
  table_.changed(RuleRecords::kRegions + 1, 0, sizeof end_[0]);
  records_.commit();
}

std::size_t LinearRules::memory_bytes() const {
  return records_.memory_bytes() + records_.end() * words_ * sizeof(std::uint64_t) + sizeof end_;
}

}  // namespace penumbra
