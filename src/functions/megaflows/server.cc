// SPDX-License-Identifier: Apache-2.0
#include "functions/megaflows/server.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/steady_time.h"

namespace penumbra::megaflows {
namespace {

constexpr std::size_t kMostClients = 8;
constexpr std::size_t kRequestsAtOnce = 256;
constexpr int kTurnMs = 100;

std::runtime_error socket_error(const std::filesystem::path& path, const std::string& what) {
  return std::runtime_error(path.string() + ": " + what + ": " + std::strerror(errno));
}

/// Only the owner of the file may connect.
FileDescriptor listen_at(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.empty() || text.size() >= sizeof address.sun_path) {
    throw std::runtime_error(text + ": the path of a megaflow socket has 1 to 107 bytes");
  }
  text.copy(address.sun_path, text.size());
  const auto* const where = reinterpret_cast<const sockaddr*>(&address);
  constexpr int kType = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
  FileDescriptor socket(::socket(AF_UNIX, kType, 0));
  if (path.has_parent_path()) ::mkdir(path.parent_path().c_str(), 0700);
  ::fchmod(socket.get(), 0600);  // bind() takes the file's mode from the unbound socket.
  if (::bind(socket.get(), where, sizeof address) != 0) {
    struct stat status{};
    const bool is_socket = errno == EADDRINUSE && ::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
    if (!is_socket) throw socket_error(path, "cannot make the megaflow socket");
    const FileDescriptor probe(::socket(AF_UNIX, kType, 0));
    if (::connect(probe.get(), where, sizeof address) == 0 || errno != ECONNREFUSED) {
      throw std::runtime_error(path.string() +
                               ": another process listens on this megaflow socket; choose another with `socket: PATH`");
    }
    if (::unlink(path.c_str()) != 0 || ::bind(socket.get(), where, sizeof address) != 0) {
      throw socket_error(path, "cannot replace the megaflow socket of a router that is gone");
    }
  }
  if (::listen(socket.get(), SOMAXCONN) != 0) throw socket_error(path, "cannot listen on the megaflow socket");
  return socket;
}

Reply reply_of(const rule_list::Hits& hits) {
  return {.error = 0, .packets = hits.packets, .bytes = hits.bytes, .used_ms = hits.last_ms};
}

}  // namespace

std::vector<std::vector<std::byte>> carry_out(std::span<const Request> requests, FlowTable::Owner owner,
                                              FlowTable& table, ServerCounters& counters) {
  const auto lock = table.hold();
  std::vector<Reply> replies;
  bool has_changes = false;
  for (const Request& request : requests) {
    Reply& reply = replies.emplace_back();
    reply.error = request.error;
    if (reply.error != 0) continue;
    if (request.type == MEGAFLOWS_ADD) {
      std::string why;
      reply.error =
          table.add({.ufid = request.ufid, .match = request.match, .actions = request.actions, .owner = owner}, why);
      if (reply.error == 0) counters.added.fetch_add(1, std::memory_order_relaxed);
    } else if (request.type == MEGAFLOWS_DELETE) {
      reply.error = table.remove(request.ufid);
      if (reply.error == 0) counters.removed.fetch_add(1, std::memory_order_relaxed);
    } else if (request.type == MEGAFLOWS_FLUSH) {
      counters.removed.fetch_add(table.remove_all(owner), std::memory_order_relaxed);
    } else if (request.type == MEGAFLOWS_METER_SET) {
      reply.error = table.set_meter(request.meter, owner);
    } else {
      continue;
    }
    has_changes = has_changes || reply.error == 0;
  }
  if (has_changes) table.commit();
  std::vector<std::vector<std::byte>> messages;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    std::vector<std::string> ports;
    if (replies[i].error == 0 && request.type >= MEGAFLOWS_METER_DELETE) {
      const auto number = static_cast<std::uint32_t>(request.ufid[0]);
      const bool removes = request.type == MEGAFLOWS_METER_DELETE;
      if (const auto counts = removes ? table.remove_meter(number) : table.meter_counts(number)) {
        messages.push_back(write_reply(request, *counts));
        continue;
      }
      replies[i].error = ENOENT;
    }
    if (replies[i].error == 0 && request.type == MEGAFLOWS_DELETE) {
      replies[i] = reply_of(table.last_counts(request.ufid).value_or(rule_list::Hits{}));
    } else if (replies[i].error == 0 && request.type == MEGAFLOWS_COUNTS) {
      const auto hits = table.counts(request.ufid);
      replies[i] = hits ? reply_of(*hits) : Reply{.error = ENOENT};
    } else if (replies[i].error == 0 && request.type == MEGAFLOWS_PORTS) {
      ports = table.port_names();
    }
    if (replies[i].error != 0) counters.refused.fetch_add(1, std::memory_order_relaxed);
    messages.push_back(write_reply(request, replies[i], ports));
  }
  return messages;
}

Server::Server(std::filesystem::path path, FlowTable& table, ServerCounters& counters)
    : path_(std::move(path)),
      table_(table),
      counters_(counters),
      listening_(listen_at(path_)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  watch(listening_.get());
  bell_.join(epoll_);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Server::~Server() {
  thread_.request_stop();
  bell_.ring();
  thread_.join();
  ::unlink(path_.c_str());
}

void Server::watch(int descriptor) const {
  epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return;
  throw std::system_error(errno, std::generic_category(), "megaflows: epoll");
}

void Server::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "megaflows");
  std::array<epoll_event, kMostClients + 2> events;
  std::uint64_t watched_ms = 0;
  while (!stop.stop_requested()) {
    bell_.listen();
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), kTurnMs);
    bell_.ignore();
    if (const std::uint64_t now = steady_ms(); now - watched_ms >= kTurnMs) {
      watched_ms = now;
      table_.set_down(port_watch_.down(table_.port_names()));
    }
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
      if (descriptor == listening_.get()) {
        accept();
      } else if (const auto client = clients_.find(descriptor); client != clients_.end() && !serve(client->second)) {
        lose(descriptor);
      }
    }
  }
}

void Server::accept() {
  if (!pause_.is_over()) return std::this_thread::sleep_for(std::chrono::milliseconds(kTurnMs));
  FileDescriptor incoming(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!incoming) return pause_.note(errno);
  if (clients_.size() == kMostClients) return;
  const int descriptor = incoming.get();
  watch(descriptor);
  clients_.emplace(descriptor, Client{.socket = std::move(incoming), .owner = ++last_owner_});
  counters_.clients.store(clients_.size(), std::memory_order_relaxed);
}

bool Server::serve(const Client& client) {
  std::vector<Request> requests;
  std::array<std::byte, MEGAFLOWS_MOST_BYTES + 1> message;
  bool is_there = true;
  const auto drop = [&] {
    counters_.dropped.fetch_add(1, std::memory_order_relaxed);
    is_there = false;
  };
  while (is_there && requests.size() < kRequestsAtOnce) {
    const ssize_t bytes = ::recv(client.socket.get(), message.data(), message.size(), 0);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (bytes <= 0) {
      is_there = false;
      break;
    }
    auto request = read_request(std::span(message).first(static_cast<std::size_t>(bytes)));
    if (!request) {
      drop();
    } else {
      requests.push_back(std::move(*request));
    }
  }
  for (const auto& reply : carry_out(requests, client.owner, table_, counters_)) {
    const ssize_t sent = ::send(client.socket.get(), reply.data(), reply.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(reply.size()) && is_there) drop();
  }
  return is_there;
}

/// Removes what the client added: a new instance of it starts without megaflows.
void Server::lose(int descriptor) {
  const auto lock = table_.hold();
  const FlowTable::Owner owner = clients_.at(descriptor).owner;
  clients_.erase(descriptor);
  counters_.removed.fetch_add(table_.remove_all(owner), std::memory_order_relaxed);
  table_.commit();
  counters_.clients.store(clients_.size(), std::memory_order_relaxed);
}

}  // namespace penumbra::megaflows
