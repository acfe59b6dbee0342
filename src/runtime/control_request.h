// SPDX-License-Identifier: Apache-2.0
//
// The control protocol: request lines and answer lines, as bytes. docs/control-protocol.md describes it.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penumbra::runtime {

/// The version that this router speaks. It changes when a client of the version before would misread an answer.
inline constexpr int kControlVersion = 1;

using Arguments = std::span<const std::string>;

struct ControlRequest {
  std::string command, topic;
  std::vector<std::string> arguments;
};

/// Carries out a request and returns its result. Throws std::exception with what is wrong; the exception's type says
/// which kind of refusal it is (refusal.h).
using RequestHandler =
    std::function<nlohmann::ordered_json(std::string_view command, std::string_view topic, Arguments arguments)>;

/// Parses a request line, given without its newline. Throws std::invalid_argument if it is no request, and
/// RouterRefusal if it asks for another version.
ControlRequest parse_request(std::string_view line);

/// The answer line to a request that was carried out, without its newline.
std::string success_line(const nlohmann::ordered_json& result);
/// The answer line to a request that was refused.
std::string refusal_line(const std::exception& error);

/// The answer line to one request line: parses it, has it handled, and never throws.
std::string answer(const RequestHandler& handler, std::string_view line);

}  // namespace penumbra::runtime
