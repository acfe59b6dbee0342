// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/file_descriptor.h"
#include "control/control_socket.h"

namespace penumbra::runtime {

/// Owns a listening Unix socket. The destructor removes its file.
class ListeningSocket {
 public:
  /// Listens without blocking. Replaces a stale socket file without a listener. Creates a missing folder with mode
  /// 0700, or 0755 if other users may connect. Throws std::runtime_error with the path and the reason.
  ListeningSocket(std::filesystem::path path, const control::SocketAccess& access);
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;
  ~ListeningSocket();

  int descriptor() const { return socket_.get(); }

 private:
  std::filesystem::path path_;
  FileDescriptor socket_;
};

}  // namespace penumbra::runtime
