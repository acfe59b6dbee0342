// SPDX-License-Identifier: Apache-2.0
//
// Linear search for rules; the tests are shared by all structures (src/tables/rules).
#include "tables/rules/rules_testing.h"

const char* penumbra::rules_testing::structure() {
  return "linear";
}
