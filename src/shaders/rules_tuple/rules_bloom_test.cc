// SPDX-License-Identifier: Apache-2.0
//
// Bloom search; the tests are shared by all structures (src/shaders/rules).
#include "shaders/rules/rules_testing.h"

const char* penumbra::rules_testing::structure() {
  return "bloom";
}
