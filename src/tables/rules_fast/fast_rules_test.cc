// SPDX-License-Identifier: Apache-2.0
#include "tables/rules/rules_testing.h"

const char* penumbra::rules_testing::structure() {
  return "fast";
}
