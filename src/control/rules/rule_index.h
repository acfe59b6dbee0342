// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "penumbra/rule.h"

namespace penumbra::control::rules {

/// Says whether any rule matches a header: a hash table for each mask.
class RuleIndex {
 public:
  /// The rules must outlive it.
  RuleIndex(RuleFields fields, std::span<const Rule> rules);
  bool any(const RuleWords& key) const;

 private:
  struct Class {
    RuleWords mask{};
    std::unordered_multimap<std::uint64_t, const RuleMatch*> matches;  ///< by a hash of their values
  };

  RuleFields fields_;
  std::vector<Class> classes_;
};

}  // namespace penumbra::control::rules
