// SPDX-License-Identifier: Apache-2.0
//
// The control sockets: where `penumbra show`, `trace`, `reload` and the others ask a running router. One takes all
// commands; a second one, if configured, takes only those that change nothing and show no payload.
// docs/control-protocol.md describes the protocol. One thread serves all clients and never waits for any of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/accept_pause.h"
#include "base/file_descriptor.h"
#include "control/control_socket.h"
#include "runtime/control_request.h"
#include "runtime/listening_socket.h"

namespace penumbra::runtime {

/// A command whose answer is more than a line: `start` takes the connection, which does not block, and answers over it.
/// Throws as a RequestHandler does, and then leaves the connection as it was.
struct StreamCommand {
  std::string command;
  std::function<void(std::string_view topic, Arguments arguments, FileDescriptor& connection)> start;
};

/// What the sockets offer. Everything is called on the server's thread.
struct ControlService {
  RequestHandler handle;
  StreamCommand stream = {};
  /// Whether the read-only socket refuses a request, which the other one audits: needs_full_access(). Not set: no
  /// request does.
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::function<bool(const ControlRequest& request)> is_privileged = {};
  /// Takes the audit line of a privileged request: who asked for what, and what came of it. Not set: nobody does.
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::function<void(std::string_view line)> audit = {};
};

class ControlServer {
 public:
  static constexpr std::size_t kMostClients = 64;  ///< of each socket; more wait to be accepted
  /// Bytes of a request. A command may have a full table; a request that only looks at something is short, and those
  /// who may only look must not be able to fill the memory.
  static constexpr std::size_t kMostLineBytes = std::size_t{1} << 26, kMostReadOnlyLineBytes = std::size_t{1} << 16;
  /// A client that neither sends nor takes anything for so long is put out.
  static constexpr std::chrono::seconds kPatience{10};

  /// Listens on the sockets. Throws std::runtime_error with the path and the reason.
  explicit ControlServer(const control::ControlSockets& sockets);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  /// Stops and removes the sockets.
  ~ControlServer();

  /// Answers from now on, on a thread of its own.
  void start(ControlService service);
  /// Once this returns, no request is being handled and none will be.
  void stop() noexcept;

 private:
  class Client;
  /// A socket with the clients that it accepted.
  struct Entrance {
    std::unique_ptr<ListeningSocket> listener;
    bool is_read_only = false;
    std::vector<std::unique_ptr<Client>> clients;
    AcceptPause pause;

    bool accepts() const { return clients.size() < kMostClients && pause.is_over(); }
  };
  void serve();
  void accept_client(Entrance& entrance);

  std::vector<Entrance> entrances_;
  FileDescriptor wake_;  ///< an eventfd that ends serve()
  ControlService service_;
  std::jthread thread_;
};

}  // namespace penumbra::runtime
