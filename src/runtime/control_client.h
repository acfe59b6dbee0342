// SPDX-License-Identifier: Apache-2.0
//
// Asks a running router, over its control socket.
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

/// A connection to a router.
class RouterConnection {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws std::runtime_error if nobody listens there.
  explicit RouterConnection(const std::filesystem::path& socket);

  /// Sends a request and returns its result. Throws RouterRefusal, or std::runtime_error if there is no answer before
  /// the deadline.
  nlohmann::ordered_json request(std::string_view command, std::string_view topic,
                                 std::span<const std::string> arguments, Clock::time_point deadline);

  /// Takes so many bytes that come behind the answers. `interrupted` (a descriptor, or -1) becomes readable when the
  /// router shall be told that no more is wanted, which is done once; what it still sends can be taken. Throws
  /// std::runtime_error when the router hangs up.
  void receive(std::span<std::uint8_t> bytes, int interrupted);
  /// Takes a line that comes behind them, without its newline. Throws likewise, and at the deadline.
  std::string receive_line(Clock::time_point deadline);

 private:
  void send_all(std::string_view text, Clock::time_point deadline);
  void wait_for(short event, Clock::time_point deadline);
  /// Adds what has come to `text_`, once something has.
  void receive_more();

  std::filesystem::path path_;
  FileDescriptor socket_;
  std::string text_;  ///< received and not taken yet
  bool told_ = false;
};

/// Sends one request and returns its result. `command` is "show" (then `topic` is what to show) or "trace" (then it is
/// add, show or clear). Throws RouterRefusal, or std::runtime_error: nobody listens there, no answer within `timeout`.
nlohmann::ordered_json ask_router(const std::filesystem::path& socket, std::string_view command, std::string_view topic,
                                  std::span<const std::string> arguments,
                                  std::chrono::milliseconds timeout = std::chrono::seconds(10));

}  // namespace penumbra::runtime
