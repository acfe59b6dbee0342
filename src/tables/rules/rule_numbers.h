// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "penumbra/table.h"
#include "tables/rules/grace_list.h"

namespace penumbra {

/// Numbers of rules, from 1 to kMostRules. A removed rule's number is reused when no reader can hold it any more. One
/// thread uses the object.
class RuleNumbers {
 public:
  /// `grace_periods` must outlive the object.
  explicit RuleNumbers(GracePeriods& grace_periods) : removed_(grace_periods), resting_(grace_periods) {}

  /// Returns an unused number. Throws std::length_error if there is none. May wait for grace periods if nearly all
  /// numbers are in use.
  std::uint32_t take();
  /// Takes back a number, which rests from the next commit() on.
  void give_back(std::uint32_t number) { going_.push_back(number); }
  void commit();

 private:
  void rest(bool wait);

  std::uint32_t next_ = 1;                      ///< smaller numbers were taken before
  std::vector<std::uint32_t> free_;             ///< free numbers that no reader holds
  std::vector<std::uint32_t> going_;            ///< given back since the last commit
  GraceList<std::uint32_t> removed_, resting_;  ///< a table frees a number after two grace periods
};

}  // namespace penumbra
