// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/accept_pause.h"
#include "base/file_descriptor.h"
#include "control/fpm/frame.h"
#include "control/listen_address.h"

namespace penumbra::control::fpm {

/// Receives the events of a client's connection.
class Client {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  /// A client has connected. All events until lost() are from this client.
  virtual void connected(const std::string& address) = 0;
  /// Applies the content of a frame. Returns the reason if the content is invalid, upon which the client is
  /// disconnected; else empty.
  virtual std::string frame(std::span<const std::byte> netlink) = 0;
  virtual void lost(std::string_view why, bool malformed) = 0;
  /// A second client tried to connect.
  virtual void refused(const std::string& address) = 0;
};

/// Serves one FPM client at a time, by TCP. The server never sends. One thread uses it.
class Server {
 public:
  /// Listens on `at`. Throws InputError like listen_at(), and std::system_error.
  explicit Server(const ListenAddress& at);

  /// Returns a descriptor that is readable when receive() has work. It does not signal clients whose accept failed; a
  /// receive() after AcceptPause::kBreather retries them.
  int descriptor() const { return poll_.get(); }
  /// Returns the bound address (getsockname()), useful after listening on port 0.
  Endpoint address() const;

  /// Handles received data without waiting, a few megabytes at most.
  void receive(Client& client);
  /// Disconnects the client, if there is one. It may connect again.
  void drop(std::string_view why, Client& client) { lose(why, false, client); }

 private:
  bool may_accept();
  void pause(int error);
  bool read_all(Client& client);
  bool read(Client& client);
  bool take_frames(Client& client);
  void lose(std::string_view why, bool malformed, Client& client);

  FileDescriptor poll_, listening_, connection_;
  AcceptPause pause_;
  bool heeds_listener_ = true;  ///< poll_ watches listening_.
  FrameReader reader_;
};

}  // namespace penumbra::control::fpm
