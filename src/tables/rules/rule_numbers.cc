// SPDX-License-Identifier: Apache-2.0
#include "tables/rules/rule_numbers.h"

#include <stdexcept>
#include <string>

#include "penumbra/rule.h"

namespace penumbra {

std::uint32_t RuleNumbers::take() {
  if (free_.empty() && next_ > kMostRules) rest(true);
  if (!free_.empty()) {
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  if (next_ > kMostRules) {
    throw std::length_error("there are " + std::to_string(kMostRules) + " rules, and no place for more");
  }
  return next_++;
}

void RuleNumbers::commit() {
  for (const std::uint32_t number : going_) removed_.add(number);
  going_.clear();
  rest(false);
}

void RuleNumbers::rest(bool wait) {
  const auto free = [this](std::uint32_t number) { free_.push_back(number); };
  resting_.take(free);
  removed_.take([this](std::uint32_t number) { resting_.add(number); }, wait);
  resting_.take(free, wait);
}

}  // namespace penumbra
