// SPDX-License-Identifier: Apache-2.0
//
// Headers for any rule set, for benchmarks and tests. The same options give the same headers on every machine.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"
#include "control/rules/rule_index.h"
#include "penumbra/rule.h"

namespace penumbra::control::rules {

struct HeaderGeneratorOptions {
  /// Of the headers so many match a rule, 0 to 1; the others none.
  double hit_share = 1;
  /// 0 to 1: how often a header comes again at once, a number of Pareto's distribution with shape 1 and this scale, as
  /// ClassBench's trace generator has it (0: no locality, 0.0001: low, 1: high), but kMostCopies at most.
  double locality = 0;
  std::uint64_t seed = 1;
};

class HeaderGenerator {
 public:
  static constexpr std::uint64_t kMostCopies = 1000;

  struct Header {
    RuleWords key{};
    std::uint32_t drawn_from = 0;  ///< which of `inside`, from 1; 0 if no rule matches it
  };

  /// Headers that match are drawn from `inside`, each as often as another; it may be `rules`' own matches, or the
  /// overlaps of generated ones (rule_generator.h). Fields that are free are random, but such as packets have together:
  /// of OpenFlow no ports without a protocol that has some, say. So the rule that wins may be another, better one. Both
  /// lists must outlive the generator. Throws std::invalid_argument for options out of range, for hits inside
  /// nothing, and for misses where a rule matches everything.
  HeaderGenerator(RuleFields fields, std::span<const Rule> rules, std::span<const RuleMatch> inside,
                  const HeaderGeneratorOptions& options);

  /// Throws std::invalid_argument if it finds no header that no rule matches.
  Header next();

 private:
  Header draw();
  RuleWords draw_hit(const RuleMatch& match);
  RuleWords draw_miss();
  std::uint64_t copies();

  RuleFields fields_;
  std::span<const RuleMatch> inside_;
  HeaderGeneratorOptions options_;
  Random random_;
  RuleIndex index_;  ///< of nothing if there shall be no misses
  Header current_;
  std::uint64_t copies_left_ = 0;
  double made_ = 0, hits_ = 0;
};

}  // namespace penumbra::control::rules
