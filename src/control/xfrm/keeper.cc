// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/keeper.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/unix_socket.h"

namespace penumbra::control::xfrm {
namespace {

constexpr std::size_t kMostDatagram = 65536;
constexpr std::size_t kDumpPiece = 4096;   // As in Linux, a page: some programs read dumps into a buffer of that size.
constexpr std::size_t kMostQueued = 8192;  // Messages.
// The messages that install 25,000 tunnels, each with two SAs and three policies. They take about 50 MB.
constexpr std::size_t kMostQueuedOfDataPlane = 131072;
constexpr std::size_t kMostClients = 1024;
constexpr rlim_t kOwnDescriptors = 16;  // For the marks, the socket, the log and the like.

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::uint64_t wall_clock() {
  return static_cast<std::uint64_t>(time(nullptr));
}

/// Returns Linux's lifetime of larval SAs, which daemons set to the time of a negotiation.
std::uint64_t larval_seconds() {
  std::uint64_t seconds = 0;
  std::ifstream("/proc/sys/net/core/xfrm_acq_expires") >> seconds;
  constexpr std::uint64_t kDefault = 30;
  return seconds == 0 ? kDefault : seconds;
}

/// Raises the limit of descriptors as far as it may, and returns how many connections it allows.
std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMostClients;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, kMostClients + kOwnDescriptors);
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur > kOwnDescriptors ? limit.rlim_cur - kOwnDescriptors : 1;
}

}  // namespace

bool protect_process() {
  forbid_dumps();
  return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0;
}

SaKeeper::SaKeeper(const KeeperFiles& files, std::unique_ptr<KernelLink> kernel)
    : path_(files.socket),
      lock_(lock_socket(files.socket)),
      marks_(files.marks, files.witness),
      manager_(marks_, &wall_clock, geteuid()),
      kernel_(std::move(kernel)),
      follower_(kernel_ == nullptr ? nullptr : std::make_unique<KernelFollower>(*kernel_, manager_)),
      room_(kMostDatagram),
      listening_(listen_at(files.socket, 0600)),
      most_clients_(raise_descriptor_limit()) {
  manager_.set_larval_seconds(larval_seconds());
}

SaKeeper::~SaKeeper() {
  unlink(path_.c_str());
}

void SaKeeper::accept_clients() {
  while (can_accept()) {
    FileDescriptor socket(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      lacks_descriptors_ = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      return;
    }
    const auto user = user_of_peer(socket.get());
    if (!user) continue;
    auto client = std::make_unique<Client>();
    client->socket = std::move(socket);
    client->sender.user = *user;
    clients_.push_back(std::move(client));
    if (!can_accept()) log_warning("xfrm: too many connections; others wait until one ends");
  }
}

void SaKeeper::receive(Client& client) {
  // A client that does not read its replies sends no further request.
  while (client.queue.empty() && client.dump == nullptr && !client.is_gone) {
    const ssize_t got = recv(client.socket.get(), room_.data(), room_.bytes(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      client.is_gone = true;
      return;
    }
    const auto length = static_cast<std::size_t>(got);
    Outcome outcome;
    look_for_data_plane();
    manager_.handle(client.sender, {reinterpret_cast<const std::uint8_t*>(room_.data()), length}, outcome);
    erase_bytes(room_.data(), length);
    queue(client, outcome);
    tell(outcome);
    send(client);
  }
}

void SaKeeper::queue(Client& client, Outcome& outcome) {
  for (Buffer& reply : outcome.replies) client.queue.push_back(std::move(reply));
  if (outcome.dump != nullptr) client.dump = std::move(outcome.dump);
}

bool SaKeeper::listens(const Client& client, unsigned group) {
  return (client.sender.groups >> (group - 1) & 1U) != 0 && !client.is_gone;
}

void SaKeeper::notify(const std::vector<Notification>& notifications) {
  for (const Notification& one : notifications) {
    const bool is_for_data_plane = one.group == PENUMBRA_XFRM_GROUP_DATA_PLANE;
    bool is_lent = one.lent.empty();
    const std::size_t most = is_for_data_plane ? kMostQueuedOfDataPlane : kMostQueued;
    for (const auto& client : clients_) {
      if (!listens(*client, one.group)) continue;
      const bool ends_dump = one.renumbers_sas && client->dump != nullptr && !client->dump->of_policies;
      if (client->queue.size() < most && !ends_dump) {
        Buffer& queued = client->queue.emplace_back(one.message);
        if (!std::exchange(is_lent, true)) queued.insert(queued.end(), one.lent.begin(), one.lent.end());
      } else if (is_for_data_plane) {
        // The data plane must miss nothing. It connects again and asks for everything.
        client->is_gone = true;
        continue;
      } else {
        manager_.lose_notification();
      }
      send(*client);
    }
  }
}

void SaKeeper::tell(const Outcome& outcome) {
  notify(outcome.notifications);
  if (follower_ != nullptr) follower_->forward(outcome.notifications);
}

void SaKeeper::look_for_data_plane() {
  manager_.set_has_data_plane(
      std::ranges::any_of(clients_, [](const auto& each) { return listens(*each, PENUMBRA_XFRM_GROUP_DATA_PLANE); }));
}

void SaKeeper::follow(void (KernelFollower::*step)(Outcome&)) {
  look_for_data_plane();
  Outcome outcome;
  (*follower_.*step)(outcome);
  notify(outcome.notifications);
}

void SaKeeper::send(Client& client) {
  for (;;) {
    if (client.queue.empty() && client.dump != nullptr) {
      manager_.continue_dump(client.sender, *client.dump, kDumpPiece, client.queue.emplace_back());
      if (client.dump->is_done) client.dump.reset();
    }
    if (client.queue.empty()) return;
    const Buffer& message = client.queue.front();
    const ssize_t sent = ::send(client.socket.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) {
      client.is_gone = true;
      return;
    }
    client.queue.pop_front();
  }
}

void SaKeeper::run(int stop) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kTick = std::chrono::seconds(1);
  auto next_tick = Clock::now() + kTick;
  // No client is served before the kernel's policies are known.
  if (follower_ != nullptr) follow(&KernelFollower::synchronize);
  constexpr std::size_t kFirstClient = 3;
  for (;;) {
    std::vector<pollfd> waits{{stop, POLLIN, 0},
                              {can_accept() ? listening_.get() : -1, POLLIN, 0},
                              {kernel_ != nullptr ? kernel_->descriptor() : -1, POLLIN, 0}};
    for (const auto& client : clients_) {
      const bool is_full = !client->queue.empty() || client->dump != nullptr;
      waits.push_back({client->socket.get(), static_cast<short>(is_full ? POLLOUT : POLLIN), 0});
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_tick - Clock::now()).count();
    if (poll(waits.data(), waits.size(), static_cast<int>(std::clamp<long>(left, 0, 1000))) < 0 && errno != EINTR) {
      fail("cannot wait for messages");
    }
    if (waits[0].revents != 0) return;
    if (waits[2].revents != 0) follow(&KernelFollower::receive);
    for (std::size_t i = kFirstClient; i < waits.size(); ++i) {
      Client& client = *clients_[i - kFirstClient];
      if (waits[i].revents == 0) continue;
      send(client);
      receive(client);
    }
    if (waits[1].revents != 0) accept_clients();
    if (Clock::now() >= next_tick) {
      next_tick = Clock::now() + kTick;
      lacks_descriptors_ = false;
      manager_.set_larval_seconds(larval_seconds());
      if (follower_ != nullptr) follow(&KernelFollower::receive);
      Outcome outcome;
      manager_.tick(outcome);
      tell(outcome);
    }
    std::erase_if(clients_, [](const auto& client) { return client->is_gone; });
  }
}

}  // namespace penumbra::control::xfrm
