// SPDX-License-Identifier: Apache-2.0
//
// Asks a running router, over its control socket.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace penumbra::runtime {

/// The router understood the request and says in words why it does not do it.
class RouterRefusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Sends one request and returns its result. `command` is "show" (then `topic` is what to show) or "trace" (then it is
/// add, show or clear). Throws std::runtime_error: nobody listens there, no answer within `timeout`, or the router's
/// own refusal in its words.
nlohmann::ordered_json ask_router(const std::filesystem::path& socket, std::string_view command, std::string_view topic,
                                  std::span<const std::string> arguments,
                                  std::chrono::milliseconds timeout = std::chrono::seconds(10));

}  // namespace penumbra::runtime
