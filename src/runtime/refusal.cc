// SPDX-License-Identifier: Apache-2.0
#include "runtime/refusal.h"

#include <nlohmann/json.hpp>

namespace penumbra::runtime {

nlohmann::ordered_json to_answer(const std::exception& error) {
  nlohmann::ordered_json answer{{"ok", false}, {"kind", "failure"}, {"error", error.what()}};
  if (dynamic_cast<const std::invalid_argument*>(&error) != nullptr) answer["kind"] = "usage";
  if (const auto* input = dynamic_cast<const InputError*>(&error); input != nullptr) {
    const auto& [file, line, column] = input->location();
    answer["kind"] = "input";
    answer["error"] = input->message();
    answer.update(nlohmann::ordered_json{{"file", file}, {"line", line}, {"column", column}});
  }
  return answer;
}

RouterRefusal refusal_of(const nlohmann::ordered_json& answer) {
  const std::string name = answer.value("kind", "failure");
  const RefusalKind kind = name == "usage"   ? RefusalKind::usage
                           : name == "input" ? RefusalKind::input
                                             : RefusalKind::failure;
  return {kind,
          answer.value("error", "refused without a reason"),
          {.file = answer.value("file", ""), .line = answer.value("line", 0), .column = answer.value("column", 0)}};
}

}  // namespace penumbra::runtime
