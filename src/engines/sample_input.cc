// SPDX-License-Identifier: Apache-2.0
#include "penumbra/sample_input.h"

#include <map>

namespace penumbra {
namespace {

using Make = std::unique_ptr<SampleInput> (*)();

std::map<std::string, Make>& makers() {
  static std::map<std::string, Make> all;
  return all;
}

}  // namespace

bool register_sample_input(const std::string& shader, Make make) {
  makers()[shader] = make;
  return true;
}

std::unique_ptr<SampleInput> make_sample_input(const std::string& shader) {
  const auto found = makers().find(shader);
  return found == makers().end() ? nullptr : found->second();
}

}  // namespace penumbra
