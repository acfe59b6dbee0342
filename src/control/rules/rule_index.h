// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "penumbra/rule.h"

namespace penumbra::control::rules {

/// Tests if any rule matches a header. The index has a hash table for each mask.
class RuleIndex {
 public:
  /// The rules must outlive the index.
  RuleIndex(RuleFields fields, std::span<const Rule> rules);
  bool any(const RuleWords& key) const;

 private:
  struct Class {
    RuleWords mask{};
    std::unordered_multimap<std::uint64_t, const RuleMatch*> matches;  ///< Keyed by a hash of the match's value.
  };

  RuleFields fields_;
  std::vector<Class> classes_;
};

}  // namespace penumbra::control::rules
