// SPDX-License-Identifier: Apache-2.0
#include "churn_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <stdexcept>

namespace penumbra::bench {
namespace {

/// The table while a script is written.
class Draft {
 public:
  Draft(const InputTable& table, std::size_t changes, std::uint64_t seed) : table_(table), random_(seed) {
    if (table.next_hops < 2) throw std::invalid_argument("a table with at least two targets is needed");
    for (const auto& entry : table.entries) content_[entry.prefix] = entry.next_hop;
    for (const auto& route : table.routes.routes) {
      if (route.metric != 0) metrics_[route.prefix] = route.metric;
    }
    script_.changes.reserve(changes);
    script_.undo.reserve(changes);
  }

  std::mt19937_64& random() { return random_; }
  bool has(Ipv4Prefix prefix) const { return content_.contains(prefix); }

  /// Returns a next hop that the prefix does not have.
  std::uint16_t other_next_hop(Ipv4Prefix prefix) {
    const auto known = content_.find(prefix);
    const auto drawn = static_cast<std::uint16_t>(random_() % table_.next_hops);
    if (known == content_.end() || known->second != drawn) return drawn;
    return static_cast<std::uint16_t>((drawn + 1) % table_.next_hops);
  }

  void change(Ipv4Prefix prefix, std::optional<std::uint16_t> after) {
    const auto known = content_.find(prefix);
    const auto other = metrics_.find(prefix);
    const std::uint32_t metric = other == metrics_.end() ? 0 : other->second;
    script_.undo.push_back({prefix, known == content_.end() ? std::nullopt : std::optional(known->second), metric});
    script_.changes.push_back({prefix, after, metric});
    if (after) {
      content_[prefix] = *after;
    } else {
      content_.erase(prefix);
    }
  }

  ChurnScript finish(std::string name, std::string description) {
    std::reverse(script_.undo.begin(), script_.undo.end());
    for (const auto& [prefix, next_hop] : content_) script_.result.push_back({prefix, next_hop});
    script_.name = std::move(name);
    script_.description = std::move(description);
    return std::move(script_);
  }

 private:
  const InputTable& table_;
  std::mt19937_64 random_;
  std::map<Ipv4Prefix, std::uint16_t> content_;
  std::map<Ipv4Prefix, std::uint32_t> metrics_;  ///< Metrics other than 0.
  ChurnScript script_;
};

}  // namespace

ChurnScript random_churn(const InputTable& table, std::size_t changes, std::uint64_t seed) {
  Draft draft(table, changes, seed);
  auto& random = draft.random();
  for (std::size_t done = 0; done < changes;) {
    Ipv4Prefix prefix = table.entries[random() % table.entries.size()].prefix;
    const std::uint64_t kind = random() % 3;
    if (kind == 0) {  // Near a known prefix, with the length of another one.
      prefix.length = table.entries[random() % table.entries.size()].prefix.length;
      prefix.address.value = (prefix.address.value ^ static_cast<std::uint32_t>(random() & 0xFFFFFF)) & prefix.mask();
    }
    if (draft.has(prefix) == (kind == 0)) continue;
    draft.change(prefix, kind == 1 ? std::nullopt : std::optional(draft.other_next_hop(prefix)));
    ++done;
  }
  return draft.finish("random changes",
                      fmt::format("{} changes and their undoing, a third each new, gone and replaced, "
                                  "seed {}",
                                  changes, seed));
}

ChurnScript bgp_churn(const InputTable& table, std::size_t changes, std::uint64_t seed) {
  Draft draft(table, changes, seed);
  auto& random = draft.random();
  std::vector<Ipv4Prefix> ranking;  // The busiest first.
  ranking.reserve(table.entries.size());
  for (const auto& entry : table.entries) ranking.push_back(entry.prefix);
  std::shuffle(ranking.begin(), ranking.end(), random);
  std::uniform_real_distribution<double> draw(0, std::log(static_cast<double>(ranking.size())));
  for (std::size_t done = 0; done < changes; ++done) {
    const auto rank = static_cast<std::size_t>(std::exp(draw(random))) - 1;  // Zipf with exponent 1, continuous.
    const Ipv4Prefix prefix = ranking[std::min(rank, ranking.size() - 1)];
    const bool goes = draft.has(prefix) && random() % 5 == 0;
    draft.change(prefix, goes ? std::nullopt : std::optional(draft.other_next_hop(prefix)));
  }
  return draft.finish("BGP-like changes",
                      fmt::format("{} changes and their undoing, Zipf over the prefixes, 80% to another next hop, else "
                                  "gone and back, seed {}",
                                  changes, seed));
}

}  // namespace penumbra::bench
