// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/netlink_link.h"

#include <linux/xfrm.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "control/xfrm/buffer.h"
#include "control/xfrm/read_message.h"

namespace penumbra::control::xfrm {
namespace {

constexpr std::size_t kMostDatagram = 65536;  // Linux fills a dump's datagrams up to 32 KiB.
constexpr int kReceiveBytes = 16 << 20;       // For some ten thousand notifications.
constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};
// The kernel gives no socket such a port by itself.
constexpr std::uint32_t kOwnPort = 0x50454E55;

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), "xfrm: " + what);
}

/// Opens a socket with a netlink port; 0: any.
FileDescriptor open_socket(int flags, std::uint32_t port) {
  FileDescriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, NETLINK_XFRM));
  if (!socket) fail(errno, "the kernel has no XFRM; load the module xfrm_user, or leave out --follow-kernel");
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  own.nl_pid = port;
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) {
    fail(errno, errno == EADDRINUSE ? "another keeper follows the kernel of this network namespace; end it first"
                                    : "cannot bind a socket of the kernel's XFRM");
  }
  return socket;
}

/// The result of one recvmsg().
struct Datagram {
  enum class Kind : std::uint8_t { none, whole, foreign, lost } kind;
  std::size_t bytes = 0;
};

/// Receives by recvmsg(), because libmnl does not tell who has sent a datagram.
Datagram receive_into(int socket, const SecretMemory& room) {
  sockaddr_nl sender{};
  iovec part{.iov_base = room.data(), .iov_len = room.bytes()};
  msghdr head{};
  head.msg_name = &sender;
  head.msg_namelen = sizeof sender;
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &head, 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return {Datagram::Kind::none};
  if (got < 0 && errno == ENOBUFS) return {Datagram::Kind::lost};
  if (got < 0) fail(errno, "cannot receive from the kernel");
  const auto bytes = static_cast<std::size_t>(got);
  if (!is_of_kernel(sender, head.msg_namelen)) return {Datagram::Kind::foreign, bytes};
  if ((head.msg_flags & MSG_TRUNC) != 0) return {Datagram::Kind::lost, bytes};
  return {Datagram::Kind::whole, bytes};
}

/// Erases a received datagram, because it may contain keys.
class Eraser {
 public:
  Eraser(const SecretMemory& room, std::size_t bytes) : room_(room), bytes_(bytes) {}
  Eraser(const Eraser&) = delete;
  Eraser& operator=(const Eraser&) = delete;
  ~Eraser() { erase_bytes(room_.data(), std::min(bytes_, room_.bytes())); }

 private:
  const SecretMemory& room_;
  std::size_t bytes_;
};

std::span<const std::uint8_t> bytes_of(const SecretMemory& room, std::size_t bytes) {
  return {reinterpret_cast<const std::uint8_t*>(room.data()), bytes};
}

}  // namespace

void visit_messages(std::span<const std::uint8_t> datagram, const KernelLink::Visit& visit) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto head = fixed_part<nlmsghdr>(datagram);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > datagram.size()) return;
    visit(datagram.first(head.nlmsg_len));
    datagram = datagram.subspan(std::min<std::size_t>(NLMSG_ALIGN(head.nlmsg_len), datagram.size()));
  }
}

bool is_of_kernel(const sockaddr_nl& sender, std::size_t bytes) {
  return bytes == sizeof sender && sender.nl_family == AF_NETLINK && sender.nl_pid == 0;
}

NetlinkLink::NetlinkLink()
    : events_(open_socket(SOCK_NONBLOCK, 0)),
      requests_(open_socket(0, kOwnPort)),
      room_(kMostDatagram),
      answer_(kMostDatagram) {
  // SO_RCVBUFFORCE passes the host's limit, and needs CAP_NET_ADMIN as the groups do.
  setsockopt(events_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBytes, sizeof kReceiveBytes);
  setsockopt(requests_.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  for (const int group : {XFRMNLGRP_SA, XFRMNLGRP_POLICY, XFRMNLGRP_EXPIRE, XFRMNLGRP_MIGRATE}) {
    if (setsockopt(events_.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) == 0) continue;
    fail(errno, "cannot listen to the kernel's SAs; run as root, or with CAP_NET_ADMIN in the network namespace");
  }
}

KernelLink::Received NetlinkLink::receive(const Visit& visit) {
  const Datagram datagram = receive_into(events_.get(), room_);
  const Eraser eraser(room_, datagram.bytes);
  switch (datagram.kind) {
    case Datagram::Kind::none:
      return Received::nothing;
    case Datagram::Kind::lost:
      return Received::overrun;
    case Datagram::Kind::whole:
      visit_messages(bytes_of(room_, datagram.bytes), visit);
      break;
    case Datagram::Kind::foreign:
      break;
  }
  return Received::messages;
}

int NetlinkLink::ask(std::span<const std::uint8_t> request, const Visit& visit) {
  Buffer numbered(request.begin(), request.end());
  ++sequence_;
  std::memcpy(&numbered[offsetof(nlmsghdr, nlmsg_seq)], &sequence_, sizeof sequence_);
  ssize_t sent = 0;
  do {
    sent = send(requests_.get(), numbered.data(), numbered.size(), 0);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) fail(errno, "cannot ask the kernel");
  int problem = 0;
  for (;;) {
    const Datagram datagram = receive_into(requests_.get(), answer_);
    const Eraser eraser(answer_, datagram.bytes);
    if (datagram.kind == Datagram::Kind::none) fail(ETIMEDOUT, "the kernel does not answer");
    if (datagram.kind == Datagram::Kind::lost) {
      if (datagram.bytes == 0) return ENOBUFS;
      problem = ENOBUFS;  // The rest of a dump follows, and the socket takes no other request before its end.
      continue;
    }
    if (datagram.kind == Datagram::Kind::foreign) continue;
    std::optional<int> error;
    visit_messages(bytes_of(answer_, datagram.bytes), [&](std::span<const std::uint8_t> message) {
      const auto head = fixed_part<nlmsghdr>(message);
      if (head.nlmsg_seq != sequence_ || error) return;
      if ((head.nlmsg_flags & NLM_F_DUMP_INTR) != 0) problem = EINTR;
      const bool ends = head.nlmsg_type == NLMSG_ERROR || head.nlmsg_type == NLMSG_DONE;
      if (!ends) return visit(message);
      error = message.size() < sizeof head + sizeof(int) ? EBADMSG : -fixed_part<int>(message.subspan(sizeof head));
    });
    if (error) return *error != 0 ? *error : problem;
  }
}

}  // namespace penumbra::control::xfrm
