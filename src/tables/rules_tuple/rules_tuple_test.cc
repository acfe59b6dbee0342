// SPDX-License-Identifier: Apache-2.0
//
// Tuple search; all structures share the tests (src/tables/rules).
#include "tables/rules/rules_testing.h"

const char* penumbra::rules_testing::structure() {
  return "tuple";
}
