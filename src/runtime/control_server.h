// SPDX-License-Identifier: Apache-2.0
//
// Serves the control sockets for `penumbra show`, `trace`, `reload` and other commands. One socket takes all commands.
// An optional second socket takes only commands that change nothing and show no payload. docs/control-protocol.md
// describes the protocol. One thread serves all clients and never waits for a single client.
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

/// Describes a command whose answer has more than one line. `start` takes the non-blocking connection and answers on
/// it. If `start` throws like a RequestHandler, the connection is unchanged.
struct StreamCommand {
  std::string command;
  std::function<void(std::string_view topic, Arguments arguments, FileDescriptor& connection)> start;
};

/// Holds the functions that serve requests. All are called on the server's thread.
struct ControlService {
  RequestHandler handle;
  StreamCommand stream = {};
  /// Returns true if the read-only socket must refuse a request and the other socket must audit it:
  /// needs_full_access(). If not set, no request is privileged.
  // NOLINTNEXTLINE(readability-redundant-member-init): needed by initializers that omit it
  std::function<bool(const ControlRequest& request)> is_privileged = {};
  /// Receives the audit line of a privileged request: the client, the request and the result. If not set, there is no
  /// audit.
  // NOLINTNEXTLINE(readability-redundant-member-init): needed by initializers that omit it
  std::function<void(std::string_view line)> audit = {};
};

class ControlServer {
 public:
  static constexpr std::size_t kMostClients = 64;  ///< Limit for each socket; further clients wait to be accepted.
  /// Limits the length of a request, bytes. A command may contain a full table. Read-only requests are short, and
  /// clients with read-only access must not be able to fill the memory.
  static constexpr std::size_t kMostLineBytes = std::size_t{1} << 26, kMostReadOnlyLineBytes = std::size_t{1} << 16;
  /// A client that neither sends nor receives for this time is disconnected.
  static constexpr std::chrono::seconds kPatience{10};

  /// Listens on the sockets. Throws std::runtime_error with the path and the reason.
  explicit ControlServer(const control::ControlSockets& sockets);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  /// Stops and removes the sockets.
  ~ControlServer();

  /// Starts to serve on its own thread.
  void start(ControlService service);
  /// Stops serving. No request is handled after the return.
  void stop() noexcept;

 private:
  class Client;
  /// Holds a socket with the clients that it accepted.
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
  FileDescriptor wake_;  ///< An eventfd that ends serve().
  ControlService service_;
  std::jthread thread_;
};

}  // namespace penumbra::runtime
