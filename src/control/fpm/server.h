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

/// What comes of a client.
class Client {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  /// One is there; all that comes before lost() is from it.
  virtual void connected(const std::string& address) = 0;
  /// What a frame holds. Returns why that makes no sense; empty: it does. Else the client is given up.
  virtual std::string frame(std::span<const std::byte> netlink) = 0;
  virtual void lost(std::string_view why, bool malformed) = 0;
  /// Another one wants to be heard while one is there already.
  virtual void refused(const std::string& address) = 0;
};

/// Hears one FPM client at a time, by TCP. Nothing is ever sent. One thread.
class Server {
 public:
  /// Listens. Throws InputError as listen_at(), std::system_error.
  explicit Server(const ListenAddress& at);

  /// Readable when receive() has something to do, but for clients that could not be accepted: they are tried again by
  /// a receive() after AcceptPause::kBreather.
  int descriptor() const { return poll_.get(); }
  /// Where it listens, by getsockname(): of use if that was port 0.
  Endpoint address() const;

  /// Takes over what has come in, a few megabytes at most, and does not wait.
  void receive(Client& client);
  /// Gives the client up, if there is one. It may come again.
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
  bool heeds_listener_ = true;  ///< poll_ does
  FrameReader reader_;
};

}  // namespace penumbra::control::fpm
