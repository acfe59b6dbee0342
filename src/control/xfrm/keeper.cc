// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/log.h"

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

/// Only one keeper may own a socket. The lock ends with the process.
FileDescriptor take_lock(const std::filesystem::path& socket) {
  const std::string path = socket.string() + ".lock";
  FileDescriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) fail("cannot open " + path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) fail("another keeper has " + socket.string());
  return lock;
}

FileDescriptor listen_at(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.string().size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    fail("cannot listen on " + path.string());
  }
  std::memcpy(address.sun_path, path.c_str(), path.string().size());
  FileDescriptor listening(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listening) fail("cannot make a socket");
  unlink(path.c_str());  // The lock proves that nobody listens.
  const mode_t mask = umask(0177);
  const bool bound = bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  umask(mask);
  if (!bound) fail("cannot listen on " + path.string());
  constexpr int kBacklog = 64;
  if (listen(listening.get(), kBacklog) != 0) fail("cannot listen on " + path.string());
  return listening;
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
  prctl(PR_SET_DUMPABLE, 0);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0;
}

SaKeeper::SaKeeper(const KeeperFiles& files)
    : path_(files.socket),
      lock_(take_lock(files.socket)),
      marks_(files.marks, files.witness),
      manager_(marks_, &wall_clock, geteuid()),
      room_(kMostDatagram),
      listening_(listen_at(files.socket)),
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
    ucred peer{};
    socklen_t length = sizeof peer;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) continue;
    auto client = std::make_unique<Client>();
    client->socket = std::move(socket);
    client->sender.user = peer.uid;
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
    manager_.handle(client.sender, {reinterpret_cast<const std::uint8_t*>(room_.data()), length}, outcome);
    erase_bytes(room_.data(), length);
    queue(client, outcome);
    notify(outcome.notifications);
    send(client);
  }
}

void SaKeeper::queue(Client& client, Outcome& outcome) {
  for (Buffer& reply : outcome.replies) client.queue.push_back(std::move(reply));
  if (outcome.dump != nullptr) client.dump = std::move(outcome.dump);
}

void SaKeeper::notify(const std::vector<Notification>& notifications) {
  for (const Notification& one : notifications) {
    const bool is_for_data_plane = one.group == PENUMBRA_XFRM_GROUP_DATA_PLANE;
    const std::size_t most = is_for_data_plane ? kMostQueuedOfDataPlane : kMostQueued;
    for (const auto& client : clients_) {
      if ((client->sender.groups >> (one.group - 1) & 1U) == 0 || client->is_gone) continue;
      if (client->queue.size() < most) {
        client->queue.push_back(one.message);
      } else if (is_for_data_plane) {
        // The data plane must miss nothing. It connects again and asks for everything.
        client->is_gone = true;
      }
      send(*client);
    }
  }
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
  for (;;) {
    std::vector<pollfd> waits{{stop, POLLIN, 0}, {can_accept() ? listening_.get() : -1, POLLIN, 0}};
    for (const auto& client : clients_) {
      const bool is_full = !client->queue.empty() || client->dump != nullptr;
      waits.push_back({client->socket.get(), static_cast<short>(is_full ? POLLOUT : POLLIN), 0});
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_tick - Clock::now()).count();
    if (poll(waits.data(), waits.size(), static_cast<int>(std::clamp<long>(left, 0, 1000))) < 0 && errno != EINTR) {
      fail("cannot wait for messages");
    }
    if (waits[0].revents != 0) return;
    for (std::size_t i = 2; i < waits.size(); ++i) {
      Client& client = *clients_[i - 2];
      if (waits[i].revents == 0) continue;
      send(client);
      receive(client);
    }
    if (waits[1].revents != 0) accept_clients();
    if (Clock::now() >= next_tick) {
      next_tick = Clock::now() + kTick;
      lacks_descriptors_ = false;
      manager_.set_larval_seconds(larval_seconds());
      Outcome outcome;
      manager_.tick(outcome);
      notify(outcome.notifications);
    }
    std::erase_if(clients_, [](const auto& client) { return client->is_gone; });
  }
}

}  // namespace penumbra::control::xfrm
