// SPDX-License-Identifier: Apache-2.0
//
// Sends requests to a running router over its control socket.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "runtime/refusal.h"
#include "runtime/unix_socket.h"

namespace penumbra::runtime {

/// Represents a connection to a router.
class RouterConnection {
 public:
  using Clock = std::chrono::steady_clock;

  /// Connects. Throws std::runtime_error if no router listens on the socket.
  explicit RouterConnection(const std::filesystem::path& socket);

  /// Sends a request and returns its result. Throws RouterRefusal, or std::runtime_error if there is no answer before
  /// the deadline.
  nlohmann::ordered_json request(std::string_view command, std::string_view topic,
                                 std::span<const std::string> arguments, Clock::time_point deadline);

  /// Receives bytes.size() bytes after an answer. When the descriptor `interrupted` (or -1) becomes readable, shuts
  /// down the sending side once, so that the router stops. The remaining data can still be received. Throws
  /// std::runtime_error when the router hangs up.
  void receive(std::span<std::uint8_t> bytes, int interrupted);
  /// Receives a line without its newline. Throws std::runtime_error when the router hangs up and at the deadline.
  std::string receive_line(Clock::time_point deadline);

 private:
  void send_all(std::string_view text, Clock::time_point deadline);
  void wait_for(short event, Clock::time_point deadline);
  /// Appends received bytes to `text_`. Blocks unless the socket is readable.
  void receive_more();

  std::filesystem::path path_;
  FileDescriptor socket_;
  std::string text_;  ///< Received and not consumed yet.
  bool told_ = false;
};

/// Sends one request and returns its result. `command` is "show" (then `topic` is the subject) or "trace" (then it is
/// add, show or clear). Throws RouterRefusal. Throws std::runtime_error if no router listens or there is no answer
/// within `timeout`.
nlohmann::ordered_json ask_router(const std::filesystem::path& socket, std::string_view command, std::string_view topic,
                                  std::span<const std::string> arguments,
                                  std::chrono::milliseconds timeout = std::chrono::seconds(10));

}  // namespace penumbra::runtime
