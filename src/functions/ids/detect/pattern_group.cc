// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/pattern_group.h"

#include "functions/ids/verify/literal.h"

namespace penumbra::ids {

void PatternGroup::add(const std::string& pattern, std::uint32_t rule) {
  std::string folded = pattern;
  for (char& letter : folded) letter = static_cast<char>(fold(static_cast<std::uint8_t>(letter)));
  const auto [place, is_new] = numbers_.try_emplace(folded, rules_.size());
  if (is_new) {
    texts_.push_back(std::move(folded));
    rules_.emplace_back();
  }
  rules_[place->second].push_back(rule);
}

void PatternGroup::compile(MatcherKind matcher) {
  patterns_ = std::make_shared<const Patterns>(texts_);
  if (matcher == MatcherKind::hyperscan) hyperscan_ = std::make_unique<const Hyperscan>(texts_);
  numbers_.clear();
}

}  // namespace penumbra::ids
