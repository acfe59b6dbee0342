// SPDX-License-Identifier: Apache-2.0
//
// Asks a running router, over its control socket.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace penumbra::runtime {

/// Sends one request and returns its result. `command` is "show" (then `topic` is what to show) or "trace" (then it is
/// add, show or clear). Throws std::runtime_error: nobody listens there, no answer within `timeout`, or the router's
/// own refusal in its words.
nlohmann::json ask_router(const std::filesystem::path& socket, std::string_view command, std::string_view topic,
                          std::span<const std::string> arguments,
                          std::chrono::milliseconds timeout = std::chrono::seconds(10));

}  // namespace penumbra::runtime
