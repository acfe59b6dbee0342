// SPDX-License-Identifier: Apache-2.0
//
// The control socket: how `penumbra show` and `penumbra trace` ask a running router. A UNIX stream socket, for its
// owner only. A client sends one JSON object a line and gets one back a line:
//
//   {"command": "show", "topic": "ports", "arguments": ["wan"]}
//   {"command": "trace", "topic": "add", "arguments": ["10", "--filter", "icmp"]}
//   -> {"ok": true, "result": [{"name": "wan", ...}, ...]}
//   -> {"ok": false, "kind": "usage", "error": "there is no port 'wam'; did you mean 'wan'?"}
//
// The kinds of refusal are those of RefusalKind (refusal.h). One of the kind `input` says where, too: "file", "line"
// and "column", as `penumbra check -j` does, 0 for what is unknown.
//
// The command `capture` answers with a stream (capture_session.h). `arguments` may be missing. One thread serves all
// clients and never waits for any of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/accept_pause.h"
#include "runtime/unix_socket.h"

namespace penumbra::runtime {

using Arguments = std::span<const std::string>;

/// Carries out a request and returns its result. Throws std::exception with what is wrong, whose type says which kind
/// of refusal that is (refusal.h).
using RequestHandler =
    std::function<nlohmann::ordered_json(std::string_view command, std::string_view topic, Arguments arguments)>;

/// A command whose answer is more than a line: `start` takes the connection, which does not block, and answers over it.
/// Throws likewise, the connection as it was.
struct StreamCommand {
  std::string command;
  std::function<void(std::string_view topic, Arguments arguments, FileDescriptor& connection)> start;
};

/// The answer to one request line, without its newline: parses, has it handled, never throws for any bytes.
std::string answer(const RequestHandler& handler, std::string_view line);

class ControlServer {
 public:
  static constexpr std::size_t kMostClients = 64;       ///< more wait to be accepted
  static constexpr std::size_t kMostLineBytes = 65536;  ///< of a request
  /// A client that neither sends nor takes anything for so long is put out.
  static constexpr std::chrono::seconds kPatience{10};

  /// Listens. A socket that nobody listens on any more is replaced, a missing folder made (mode 0700). Throws
  /// std::runtime_error with the path and the reason.
  explicit ControlServer(std::filesystem::path path);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  /// Stops and removes the socket.
  ~ControlServer();

  /// Answers from now on, on a thread of its own, with `handler`, and what is asked for under the stream's command with
  /// that.
  void start(RequestHandler handler, StreamCommand stream = {});
  /// Once this returns, no request is being handled and none will be.
  void stop() noexcept;

 private:
  class Client;
  void serve();
  void accept_client();

  std::filesystem::path path_;
  FileDescriptor listener_;
  FileDescriptor wake_;  ///< an eventfd that ends serve()
  RequestHandler handler_;
  StreamCommand stream_;
  std::vector<std::unique_ptr<Client>> clients_;
  AcceptPause pause_;
  std::jthread thread_;
};

}  // namespace penumbra::runtime
