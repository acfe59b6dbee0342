// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa_engine/server.h"

#include <grp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/unix_socket.h"

namespace penumbra::rsa_engine {
namespace {

constexpr int kTickMilliseconds = 1000;
/// A client that sends many messages waits, so that others have their turn.
constexpr unsigned kMostMessages = 16;

OwnKeys&& require_room(OwnKeys&& keys, std::uint64_t most_keys) {
  if (keys.size() <= most_keys) return std::move(keys);
  throw std::runtime_error("the folder has " + std::to_string(keys.size()) + " keys, but the engine takes only " +
                           std::to_string(most_keys));
}

FileDescriptor listen_for(const ServerSettings& settings) {
  if (settings.group.empty()) return listen_at(settings.socket, 0600);
  const group* const found = getgrnam(settings.group.c_str());
  if (found == nullptr) throw std::runtime_error("there is no group '" + settings.group + "'");
  FileDescriptor listening = listen_at(settings.socket, 0660);
  if (chown(settings.socket.c_str(), static_cast<uid_t>(-1), found->gr_gid) != 0) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot give " + settings.socket.string() + " to the group '" + settings.group + "'");
  }
  return listening;
}

}  // namespace

Server::Server(const ServerSettings& settings, std::vector<FormOnThread> forms, OwnKeys own_keys)
    : settings_(settings),
      own_keys_(require_room(std::move(own_keys), settings.most_keys)),
      lock_(lock_socket(settings.socket)),
      listening_(listen_for(settings)),
      batcher_(std::move(forms), counters_),
      room_(kMostMessage) {
  count(counters_.own_keys, own_keys_.size());
}

Server::~Server() {
  unlink(settings_.socket.c_str());
  for (const auto& session : sessions_) session->end();
}

void Server::accept_client() {
  FileDescriptor socket(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  is_short_ = !socket;
  if (!socket) return;
  if (sessions_.size() == settings_.most_clients) {
    count(counters_.refused_clients);
    return;
  }
  sessions_.push_back(std::make_shared<Session>(std::move(socket), own_keys_, counters_));
}

/// Returns false if the connection has ended.
bool Server::serve(Session& session, bool is_readable) {
  const std::span room(reinterpret_cast<std::uint8_t*>(room_.data()), room_.bytes());
  bool is_whole = true;
  for (unsigned i = 0; is_readable && is_whole && i < kMostMessages; ++i) {
    Message message{};
    const Receipt receipt = receive_message(session.socket(), room, message);
    if (receipt == Receipt::ended) return false;
    if (receipt == Receipt::nothing) break;
    is_whole = session.handle(message, batcher_, settings_.most_keys);
    erase_bytes(room.data(), sizeof message.head + message.rest.size());
  }
  is_whole = is_whole && session.take_requests(batcher_);
  if (!is_whole) count(counters_.broken_clients);
  return is_whole;
}

void Server::run(int stop) {
  while (batcher_.has_forms()) {
    std::vector<pollfd> waits{{stop, POLLIN, 0}, {is_short_ ? -1 : listening_.get(), POLLIN, 0}};
    is_short_ = false;
    bool may_sleep = true;
    for (const auto& session : sessions_) {
      may_sleep &= session->begin_sleep();
      waits.push_back({session->socket(), POLLIN, 0});
    }
    if (poll(waits.data(), waits.size(), may_sleep ? kTickMilliseconds : 0) < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "cannot wait for clients");
    }
    if (waits[0].revents != 0) return;
    std::size_t i = 2;
    std::erase_if(sessions_, [&](const auto& session) {
      session->end_sleep();
      bool is_served = false;
      try {
        is_served = serve(*session, waits[i++].revents != 0);
        // NOLINTNEXTLINE(bugprone-empty-catch): a client for whom there is no memory is disconnected
      } catch (const std::exception&) {
      }
      if (!is_served) session->end();
      return !is_served;
    });
    if (waits[1].revents != 0) accept_client();
  }
  throw std::runtime_error("no form is left");
}

}  // namespace penumbra::rsa_engine
