// SPDX-License-Identifier: Apache-2.0
//
// Serves clients that add and remove megaflows (wire.h), on a thread of its own. The thread also watches the twins.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/accept_pause.h"
#include "base/doorbell.h"
#include "base/file_descriptor.h"
#include "functions/megaflows/flow_table.h"
#include "functions/megaflows/messages.h"
#include "functions/megaflows/port_watch.h"

namespace penumbra::megaflows {

/// Counts events of all clients. Any thread may read.
struct ServerCounters {
  std::atomic<std::uint64_t> clients{0};  ///< connected now
  std::atomic<std::uint64_t> added{0};    ///< megaflows added or given other actions
  std::atomic<std::uint64_t> removed{0};  ///< megaflows removed, also because their client left
  std::atomic<std::uint64_t> refused{0};  ///< requests answered with an error
  std::atomic<std::uint64_t> dropped{0};  ///< clients disconnected because of what they sent, or did not read
};

/// Carries out requests of a client in order, with one commit, and returns the replies in the same order.
std::vector<std::vector<std::byte>> carry_out(std::span<const Request> requests, FlowTable::Owner owner,
                                              FlowTable& table, ServerCounters& counters);

class Server {
 public:
  /// Listens at `path`. Replaces the file of a socket without a listener. Throws std::runtime_error with the path and
  /// the reason.
  Server(std::filesystem::path path, FlowTable& table, ServerCounters& counters);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Disconnects all clients, and removes the socket's file.
  ~Server();

 private:
  struct Client {
    FileDescriptor socket;
    FlowTable::Owner owner = 0;
  };

  void run(const std::stop_token& stop);
  void accept();
  /// Returns false if the client is gone.
  bool serve(const Client& client);
  void lose(int descriptor);
  void watch(int descriptor) const;

  const std::filesystem::path path_;
  FlowTable& table_;
  ServerCounters& counters_;
  FileDescriptor listening_, epoll_;
  Doorbell bell_;
  AcceptPause pause_;
  const PortWatch port_watch_;
  std::unordered_map<int, Client> clients_;  ///< by descriptor
  FlowTable::Owner last_owner_ = FlowTable::kCommands;
  std::jthread thread_;
};

}  // namespace penumbra::megaflows
