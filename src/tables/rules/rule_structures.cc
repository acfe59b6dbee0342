// SPDX-License-Identifier: Apache-2.0
#include "tables/rules/rule_structures.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "penumbra/errors.h"

namespace penumbra {
namespace {

std::vector<RuleStructure>& known_rule_structures() {
  static std::vector<RuleStructure> list;
  return list;
}

}  // namespace

bool register_rule_structure(RuleStructure structure) {
  auto& list = known_rule_structures();
  const auto place = std::ranges::upper_bound(list, structure.name, {}, &RuleStructure::name);
  list.insert(place, std::move(structure));
  return true;
}

const std::vector<RuleStructure>& rule_structures() {
  return known_rule_structures();
}

std::unique_ptr<RuleTable> make_rule_table(const std::string& structure, RuleFields fields, std::uint64_t seed,
                                           GracePeriods& grace_periods) {
  std::vector<std::string> names;
  for (const RuleStructure& each : rule_structures()) {
    if (each.name == structure) return each.create(fields, seed, grace_periods);
    names.push_back(each.name);
  }
  throw std::invalid_argument("rules cannot be searched by " + quote(structure) + "; " +
                              did_you_mean_or_list(structure, names));
}

}  // namespace penumbra
