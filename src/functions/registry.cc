// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "penumbra/function.h"

namespace penumbra {
namespace {

std::vector<FunctionInfo>& registered() {
  static std::vector<FunctionInfo> list;
  return list;
}

}  // namespace

bool register_function(FunctionInfo info) {
  auto& list = registered();
  const auto after = [&info](const FunctionInfo& other) { return other.name > info.name; };
  list.insert(std::find_if(list.begin(), list.end(), after), std::move(info));
  return true;
}

const std::vector<FunctionInfo>& functions() {
  return registered();
}

const FunctionInfo* find_function(std::string_view name) {
  const auto& list = registered();
  const auto found = std::find_if(list.begin(), list.end(), [name](const auto& info) { return info.name == name; });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace penumbra
