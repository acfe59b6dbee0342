// SPDX-License-Identifier: Apache-2.0
//
// The process of the engine: clients connect to a unix socket.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "crypto/rsa_engine/batcher.h"
#include "crypto/rsa_engine/own_keys.h"
#include "crypto/rsa_engine/session.h"

namespace penumbra::rsa_engine {

struct ServerSettings {
  std::filesystem::path socket;
  std::string group;               ///< May connect too; empty: only the owner and root.
  std::uint64_t most_keys = 4096;  ///< Of all clients and of the engine itself. References are not limited.
  std::size_t most_clients = 256;
};

/// One thread uses it.
class Server {
 public:
  /// Listens. Throws std::system_error, also if another process has the socket; std::runtime_error if there are more
  /// own keys than `most_keys`.
  Server(const ServerSettings& settings, std::vector<FormOnThread> forms, OwnKeys own_keys = {});
  /// Removes the socket.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Serves until `stop` is readable. Throws std::runtime_error if no form is left.
  void run(int stop);
  const Counters& counters() const { return counters_; }

 private:
  void accept_client();
  bool serve(Session& session, bool is_readable);

  const ServerSettings settings_;
  const OwnKeys own_keys_;
  Counters counters_{};
  FileDescriptor lock_, listening_;
  Batcher batcher_;
  bool is_short_ = false;  ///< Of descriptors or memory. Connections wait for the next turn.
  SecretMemory room_;      ///< For one message, which may have a key.
  std::vector<std::shared_ptr<Session>> sessions_;
};

}  // namespace penumbra::rsa_engine
