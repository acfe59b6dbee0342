// SPDX-License-Identifier: Apache-2.0
#include "control/rules/rule_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/random.h"
#include "control/rules/rule_masks.h"

namespace penumbra::control::rules {
namespace {

/// Returns the number of bits that distinguish `count` values.
unsigned bits_for(std::uint32_t count) {
  return static_cast<unsigned>(std::bit_width(count - 1));
}

/// Describes the rules with one mask.
struct Subtable {
  std::uint32_t size;
  RuleWords mask{};
};

void check(const RuleGeneratorOptions& options) {
  const auto between = [](const char* what, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
    if (value >= least && value <= most) return;
    throw std::invalid_argument(fmt::format("{} must be from {} to {}, not {}", what, least, most, value));
  };
  between("the number of rules", options.rules, 1, kMostRules);
  between("the number of classes", options.classes, 1, std::min(options.rules, RuleGeneratorOptions::kMostClasses));
  between("the number of full classes", options.full_classes, 1, options.classes);
  between("the number of matching classes", options.matching_classes, 1, options.classes);
}

/// Generates rules with defined overlaps. A cluster is a header with all fields; each subtable of its group has the
/// rule that its mask cuts from the header. The uppermost bits of the destination differ between groups, and those of
/// the source between clusters of a group. So other rules never overlap. A subtable with one rule in a group with
/// several clusters matches all clusters. Its mask omits the source, and its fields are equal in all headers of the
/// group.
class RuleSetMaker {
 public:
  explicit RuleSetMaker(const RuleGeneratorOptions& options)
      : options_(options), random_(options.seed), masks_(random_, options.fields) {}

  GeneratedRules make() {
    make_classes();
    std::uint32_t number = 0;
    for (std::size_t first = 0; first < classes_.size(); first += options_.matching_classes) {
      const std::size_t count = std::min<std::size_t>(options_.matching_classes, classes_.size() - first);
      make_group(number++, std::span(classes_).subspan(first, count));
    }
    for (std::size_t i = result_.rules.size(); i > 1; --i) {
      std::swap(result_.rules[i - 1], result_.rules[random_.below(static_cast<std::uint32_t>(i))]);
    }
    return std::move(result_);
  }

 private:
  void make_classes() {
    const std::uint32_t in_full_classes = options_.rules - (options_.classes - options_.full_classes);
    const std::uint32_t each = in_full_classes / options_.full_classes, more = in_full_classes % options_.full_classes;
    for (std::uint32_t i = 0; i < options_.classes; ++i) {
      classes_.push_back({.size = i < options_.full_classes ? each + (i < more ? 1 : 0) : 1});
    }
    const std::uint32_t groups = (options_.classes - 1) / options_.matching_classes + 1;
    group_bits_ = bits_for(groups);
    cluster_bits_ = bits_for(classes_.front().size);
    // Multiples of an odd number take all values of a given width.
    group_step_ = random_.next() | 1;
    cluster_step_ = random_.next() | 1;
  }

  void make_group(std::uint32_t number, std::span<Subtable> group) {
    const std::uint32_t clusters = group.front().size;  // The largest subtable is the first.
    const auto is_in_all = [clusters](const Subtable& each) { return clusters > 1 && each.size == 1; };
    RuleWords alike{};
    for (Subtable& each : group) {
      each.mask = masks_.make(
          {.source_bits = cluster_bits_, .destination_bits = group_bits_, .is_source_wild = is_in_all(each)});
      for (std::size_t word = 0; is_in_all(each) && word < kRuleWords; ++word) alike[word] |= each.mask[word];
    }
    const RuleWords common = random_full_header(random_, options_.fields);
    for (std::uint32_t cluster = 0; cluster < clusters; ++cluster) {
      RuleWords header = random_full_header(random_, options_.fields);
      for (std::size_t word = 0; word < kRuleWords; ++word) {
        header[word] = (header[word] & ~alike[word]) | (common[word] & alike[word]);
      }
      set_anchor(header, options_.fields, Side::destination, group_bits_, number * group_step_);
      set_anchor(header, options_.fields, Side::source, cluster_bits_, cluster * cluster_step_);
      make_cluster(cluster, header, group, is_in_all);
    }
  }

  template <class IsInAll>
  void make_cluster(std::uint32_t cluster, const RuleWords& header, std::span<const Subtable> group,
                    const IsInAll& is_in_all) {
    RuleMatch overlap;
    std::uint32_t meeting = 0;
    for (const Subtable& each : group) {
      if (each.size <= cluster && !is_in_all(each)) continue;
      ++meeting;
      for (std::size_t word = 0; word < kRuleWords; ++word) overlap.mask[word] |= each.mask[word];
      if (each.size > cluster) add_rule(under(header, each.mask));
    }
    if (meeting == options_.matching_classes) result_.overlaps.push_back(under(header, overlap.mask));
  }

  static RuleMatch under(const RuleWords& header, const RuleWords& mask) {
    RuleMatch match;
    for (std::size_t word = 0; word < kRuleWords; ++word) match.value[word] = header[word] & mask[word];
    match.mask = mask;
    return match;
  }

  void add_rule(const RuleMatch& match) {
    const std::uint64_t priority = options_.fields == RuleFields::openflow ? random_.next() & 0xFFFF : 0;
    result_.rules.push_back({.match = match, .priority = static_cast<std::uint16_t>(priority)});
  }

  const RuleGeneratorOptions& options_;
  Random random_;
  MaskMaker masks_;
  std::vector<Subtable> classes_;  ///< The largest first.
  unsigned group_bits_ = 0, cluster_bits_ = 0;
  std::uint64_t group_step_ = 1, cluster_step_ = 1;
  GeneratedRules result_;
};

}  // namespace

GeneratedRules generate_rules(const RuleGeneratorOptions& options) {
  check(options);
  return RuleSetMaker(options).make();
}

}  // namespace penumbra::control::rules
