// SPDX-License-Identifier: Apache-2.0
//
// Generates headers for any rule set, for benchmarks and tests. The same options give the same headers on every
// machine.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"
#include "control/rules/rule_index.h"
#include "penumbra/rule.h"

namespace penumbra::control::rules {

struct HeaderGeneratorOptions {
  /// Share of headers that match a rule, 0 to 1.
  double hit_share = 1;
  /// Locality, 0 to 1. A header repeats a random number of times with a Pareto distribution of shape 1 and this scale,
  /// as in ClassBench's trace generator. 0 means no locality, 0.0001 low and 1 high locality. The number is at most
  /// kMostCopies.
  double locality = 0;
  std::uint64_t seed = 1;
};

class HeaderGenerator {
 public:
  static constexpr std::uint64_t kMostCopies = 1000;

  struct Header {
    RuleWords key{};
    std::uint32_t drawn_from = 0;  ///< Position in `inside` from 1; 0 if the header matches no rule.
  };

  /// Headers that match are drawn from `inside` with equal probability. `inside` may be the matches of `rules`, or the
  /// overlaps of generated rules (rule_generator.h). Open fields are random but consistent: for OpenFlow, there are no
  /// ports without a protocol that has ports, for example. So a rule with a higher precedence may win. Both lists must
  /// outlive the generator. Throws std::invalid_argument for options out of range, for hits with an empty `inside`, and
  /// for misses if a rule matches everything.
  HeaderGenerator(RuleFields fields, std::span<const Rule> rules, std::span<const RuleMatch> inside,
                  const HeaderGeneratorOptions& options);

  /// Returns the next header. Throws std::invalid_argument if it finds no header without a matching rule.
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
  RuleIndex index_;  ///< Empty if no misses are requested.
  Header current_;
  std::uint64_t copies_left_ = 0;
  double made_ = 0, hits_ = 0;
};

}  // namespace penumbra::control::rules
