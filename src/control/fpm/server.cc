// SPDX-License-Identifier: Apache-2.0
#include "control/fpm/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace penumbra::control::fpm {
namespace {

constexpr std::size_t kReadsAtOnce = 16;
constexpr std::size_t kAcceptedAtOnce = 16;

void watch(const FileDescriptor& poll, const FileDescriptor& what) {
  epoll_event event{.events = EPOLLIN, .data = {}};
  if (epoll_ctl(poll.get(), EPOLL_CTL_ADD, what.get(), &event) == 0) return;
  throw std::system_error(errno, std::generic_category(), "fpm: epoll");
}

/// Enables keep-alive probes, so that a client on a machine that lost power is noticed.
void keep_alive(const FileDescriptor& connection) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(connection.get(), level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

Server::Server(const ListenAddress& at)
    : poll_(epoll_create1(EPOLL_CLOEXEC)),
      listening_(listen_at(at, "fpm", SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)) {
  watch(poll_, listening_);
}

Endpoint Server::address() const {
  Endpoint own;
  own.bytes = sizeof own.address;
  getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&own.address), &own.bytes);
  return own;
}

void Server::receive(Client& client) {
  // Handles all data of a lost client before the next client.
  if (!read_all(client) || !may_accept()) return;
  for (std::size_t accepted = 0; accepted < kAcceptedAtOnce; ++accepted) {
    Endpoint from;
    from.bytes = sizeof from.address;
    FileDescriptor incoming(accept4(listening_.get(), reinterpret_cast<sockaddr*>(&from.address), &from.bytes,
                                    SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!incoming) return pause(errno);
    if (connection_) {
      client.refused(to_string(from));
      continue;
    }
    keep_alive(incoming);
    watch(poll_, incoming);
    connection_ = std::move(incoming);
    reader_ = FrameReader();
    client.connected(to_string(from));
  }
}

bool Server::may_accept() {
  if (!pause_.is_over()) return false;
  if (!heeds_listener_) watch(poll_, listening_);
  heeds_listener_ = true;
  return true;
}

void Server::pause(int error) {
  pause_.note(error);
  if (pause_.is_over()) return;
  epoll_ctl(poll_.get(), EPOLL_CTL_DEL, listening_.get(), nullptr);
  heeds_listener_ = false;
}

/// Returns true if all received data was read.
bool Server::read_all(Client& client) {
  for (std::size_t reads = 0; reads < kReadsAtOnce; ++reads) {
    if (!read(client)) return true;
  }
  return false;
}

/// Returns true if more data may be available.
bool Server::read(Client& client) {
  if (!connection_) return false;
  const auto room = reader_.room();
  const ssize_t bytes = recv(connection_.get(), room.data(), room.size(), 0);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (bytes < 0) {
    lose(std::strerror(errno), false, client);
  } else if (bytes == 0) {
    const bool within = reader_.within_frame();
    lose(within ? "it ended within a frame" : "it closed the connection", within, client);
  } else {
    reader_.fill(static_cast<std::size_t>(bytes));
    return take_frames(client);
  }
  return false;
}

/// Returns true if the client is still connected.
bool Server::take_frames(Client& client) {
  while (const auto frame = reader_.next()) {
    if (const std::string failure = client.frame(*frame); !failure.empty()) {
      lose(failure, true, client);
      return false;
    }
  }
  if (!reader_.failure().empty()) lose(reader_.failure(), true, client);
  return static_cast<bool>(connection_);
}

void Server::lose(std::string_view why, bool malformed, Client& client) {
  if (!connection_) return;
  connection_ = FileDescriptor();  // Closing also removes the descriptor from the epoll set.
  client.lost(why, malformed);
}

}  // namespace penumbra::control::fpm
