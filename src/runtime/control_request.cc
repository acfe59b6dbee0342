// SPDX-License-Identifier: Apache-2.0
#include "runtime/control_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "runtime/refusal.h"

namespace penumbra::runtime {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kKeys{"version", "command", "topic", "arguments"};

/// Converts to text and replaces invalid UTF-8, which names of ports and bytes of packets may contain.
std::string dump(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string text_of(const ordered_json& value, const char* what) {
  if (!value.is_string()) throw std::invalid_argument(fmt::format("expected {} to be a string", what));
  auto text = value.get<std::string>();
  if (text.find('\0') != std::string::npos) {
    throw std::invalid_argument(fmt::format("expected no NUL byte in {}", what));
  }
  return text;
}

std::string word_of(const ordered_json& value, const char* what) {
  constexpr std::size_t kMost = 256;
  std::string word = text_of(value, what);
  if (word.size() <= kMost) return word;
  throw std::invalid_argument(fmt::format("expected at most {} bytes in {}, found {}", kMost, what, word.size()));
}

void check_version(const ordered_json& version) {
  if (!version.is_number_integer()) throw std::invalid_argument("expected 'version' to be a whole number");
  if (version == kControlVersion) return;
  throw RouterRefusal(
      RefusalKind::version,
      fmt::format("this router speaks version {} of the control protocol, not {}", kControlVersion, version.dump()),
      {});
}

}  // namespace

ControlRequest parse_request(std::string_view line) {
  const auto request = ordered_json::parse(line, nullptr, false);
  if (request.is_discarded()) throw std::invalid_argument("not valid JSON");
  if (!request.is_object()) throw std::invalid_argument("expected a JSON object");
  if (request.contains("version")) check_version(request["version"]);
  for (const auto& [key, value] : request.items()) {
    if (std::ranges::find(kKeys, key) == kKeys.end()) {
      throw std::invalid_argument(fmt::format("unknown key '{}'; valid keys: {}", key, fmt::join(kKeys, ", ")));
    }
  }
  if (!request.contains("command")) throw std::invalid_argument("'command' is missing");
  if (!request.contains("topic")) throw std::invalid_argument("'topic' is missing");
  ControlRequest parsed{.command = word_of(request["command"], "'command'"),
                        .topic = word_of(request["topic"], "'topic'"),
                        .arguments = {}};
  if (request.contains("arguments")) {
    if (!request["arguments"].is_array()) throw std::invalid_argument("expected 'arguments' to be a list of strings");
    for (const auto& argument : request["arguments"]) parsed.arguments.push_back(text_of(argument, "each argument"));
  }
  return parsed;
}

std::string success_line(const ordered_json& result) {
  return dump({{"ok", true}, {"version", kControlVersion}, {"result", result}});
}

std::string refusal_line(const std::exception& error) {
  ordered_json answer = to_answer(error);
  answer["version"] = kControlVersion;
  return dump(answer);
}

std::string answer(const RequestHandler& handler, std::string_view line) {
  try {
    const ControlRequest request = parse_request(line);
    return success_line(handler(request.command, request.topic, request.arguments));
  } catch (const std::exception& error) {
    return refusal_line(error);
  }
}

}  // namespace penumbra::runtime
