// SPDX-License-Identifier: Apache-2.0
//
// Checks that a text is read as rules or that each refused line has a place, and that other files are read or refused.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "functions/ids/rules/classification.h"
#include "functions/ids/rules/rule_set.h"
#include "functions/ids/rules/threshold_file.h"
#include "testing/fuzzing.h"

namespace {

namespace ids = penumbra::ids;

void check_rules(std::string_view text) {
  ids::RuleSet set;
  ids::HeaderSets sets(ids::Variables::defaults());
  set.read(text, "fuzz", sets);
  for (const ids::RefusedRule& refused : set.refused()) {
    penumbra::fuzzing::require(refused.place.file == "fuzz" && refused.place.line >= 1 && refused.place.column >= 1);
    penumbra::fuzzing::require(!refused.reason.empty());
  }
  for (const ids::Rule& rule : set.rules()) {
    penumbra::fuzzing::require(rule.sid > 0 && !rule.sources->empty() && !rule.destination_ports->empty());
    for (const ids::BufferTests& group : rule.buffers) penumbra::fuzzing::require(!group.tests.empty());
    static_cast<void>(rule.needs());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = penumbra::fuzzing::text_of(data, size);
  check_rules(text);
  // Longer mutations find the options of a rule if its header is right.
  check_rules("alert tcp any any -> any any (sid:1; " + std::string(text) + ")");
  ids::HeaderSets sets(ids::Variables::defaults());
  penumbra::fuzzing::read_or_refuse([&] { ids::read_threshold_file(text, "fuzz", sets); });
  ids::Classifications classifications;
  penumbra::fuzzing::read_or_refuse([&] { ids::read_classifications(text, "fuzz", classifications); });
  ids::References references;
  penumbra::fuzzing::read_or_refuse([&] { ids::read_references(text, "fuzz", references); });
  return 0;
}
