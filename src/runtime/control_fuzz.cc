// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a request line: the answer is always one line of JSON that says whether it worked.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runtime/control_server.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto repeat = [](std::string_view command, std::string_view topic, penumbra::runtime::Arguments arguments) {
    return nlohmann::ordered_json{{"command", command}, {"topic", topic}, {"arguments", arguments}};
  };
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const std::string text = penumbra::runtime::answer(repeat, line);
  const auto answer = nlohmann::ordered_json::parse(text, nullptr, false);
  if (text.find('\n') != std::string::npos || !answer.is_object() || !answer.at("ok").is_boolean()) std::abort();
  if (answer.at("ok").get<bool>() != answer.contains("result")) std::abort();
  return 0;
}
