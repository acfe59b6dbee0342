// SPDX-License-Identifier: Apache-2.0
#include "shaders/rules/rules_testing.h"

const char* penumbra::rules_testing::structure() {
  return "fast";
}
