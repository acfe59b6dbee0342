// SPDX-License-Identifier: Apache-2.0
#include "runtime/refusal.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace penumbra::runtime {
namespace {

/// Names the kinds, by RefusalKind.
constexpr std::array<std::string_view, 5> kKinds{"failure", "usage", "input", "permission", "version"};

}  // namespace

nlohmann::ordered_json to_answer(const std::exception& error) {
  nlohmann::ordered_json answer{{"ok", false}, {"kind", "failure"}, {"error", error.what()}};
  if (dynamic_cast<const std::invalid_argument*>(&error) != nullptr) answer["kind"] = "usage";
  if (const auto* input = dynamic_cast<const InputError*>(&error); input != nullptr) {
    const auto& [file, line, column] = input->location();
    answer["kind"] = "input";
    answer["error"] = input->message();
    answer.update(nlohmann::ordered_json{{"file", file}, {"line", line}, {"column", column}});
  }
  if (const auto* refusal = dynamic_cast<const RouterRefusal*>(&error); refusal != nullptr) {
    answer["kind"] = kKinds[static_cast<std::size_t>(refusal->kind())];
  }
  return answer;
}

RouterRefusal refusal_of(const nlohmann::ordered_json& answer) {
  const std::string name = answer.value("kind", "failure");
  const auto known = std::ranges::find(kKinds, name);
  const auto kind = static_cast<RefusalKind>(known == kKinds.end() ? 0 : known - kKinds.begin());
  return {kind,
          answer.value("error", "refused without a reason"),
          {.file = answer.value("file", ""), .line = answer.value("line", 0), .column = answer.value("column", 0)}};
}

}  // namespace penumbra::runtime
