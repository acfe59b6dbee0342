// SPDX-License-Identifier: Apache-2.0
//
// Implements the control protocol: request lines and answer lines as bytes. See docs/control-protocol.md.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penumbra::runtime {

/// This router implements this protocol version. It changes when a client of the previous version would misread an
/// answer.
inline constexpr int kControlVersion = 1;

using Arguments = std::span<const std::string>;

struct ControlRequest {
  std::string command, topic;
  std::vector<std::string> arguments;
};

/// Executes a request and returns its result. Throws std::exception with the fault; the exception's type determines the
/// kind of refusal (refusal.h).
using RequestHandler =
    std::function<nlohmann::ordered_json(std::string_view command, std::string_view topic, Arguments arguments)>;

/// Parses a request line without its newline. Throws std::invalid_argument if it is malformed, and RouterRefusal if it
/// asks for another version.
ControlRequest parse_request(std::string_view line);

/// Returns the answer line of a successful request, without a newline.
std::string success_line(const nlohmann::ordered_json& result);
/// Returns the answer line of a refused request, without a newline.
std::string refusal_line(const std::exception& error);

/// Parses a request line, executes the request and returns the answer line. Never throws.
std::string answer(const RequestHandler& handler, std::string_view line);

}  // namespace penumbra::runtime
