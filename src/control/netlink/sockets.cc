// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/sockets.h"

#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace penumbra::control::netlink {
namespace {

constexpr int kReceiveBytes = 16 << 20;            // Room for some ten thousand changes.
constexpr std::size_t kDatagramBytes = 128 << 10;  // A dump's datagrams have at most 32 KiB.
constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), "netlink: " + what);
}

Socket open_socket(int flags) {
  Socket socket(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | flags));
  if (socket == nullptr) fail("cannot open a socket");
  if (mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) != 0) fail("cannot bind a socket");
  return socket;
}

/// Returns the length of the received datagram; 0: there is none, -1: datagrams were lost.
ssize_t receive_into(std::vector<std::byte>& buffer, const Socket& socket) {
  const ssize_t bytes = mnl_socket_recvfrom(socket.get(), buffer.data(), buffer.size());
  if (bytes >= 0) return bytes;
  if (errno == EAGAIN || errno == EINTR) return 0;
  // libmnl reports ENOSPC for a datagram that is longer than the buffer.
  if (errno == ENOBUFS || errno == ENOSPC) return -1;
  fail("cannot receive");
}

std::size_t header_bytes(std::uint16_t type) {
  switch (type) {
    case RTM_GETLINK:
      return sizeof(ifinfomsg);
    case RTM_GETNEIGH:
      return sizeof(ndmsg);
    case RTM_GETNEXTHOP:
      return sizeof(nhmsg);
    default:
      return sizeof(rtmsg);
  }
}

}  // namespace

void CloseSocket::operator()(mnl_socket* socket) const {
  mnl_socket_close(socket);
}

EventSocket::EventSocket() : socket_(open_socket(SOCK_NONBLOCK)), buffer_(kDatagramBytes) {
  const int bytes = kReceiveBytes;
  // SO_RCVBUFFORCE exceeds the host's limit but needs CAP_NET_ADMIN; SO_RCVBUF is capped by the limit.
  if (setsockopt(descriptor(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0) {
    setsockopt(descriptor(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }
  for (const int group : {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_NEIGH, RTNLGRP_IPV4_ROUTE,
                          RTNLGRP_IPV6_ROUTE, RTNLGRP_NEXTHOP}) {
    int wanted = group;
    const int failed = mnl_socket_setsockopt(socket_.get(), NETLINK_ADD_MEMBERSHIP, &wanted, sizeof wanted);
    // Kernels before 5.3 have no next-hop objects.
    if (failed != 0 && group != RTNLGRP_NEXTHOP) fail("cannot subscribe");
  }
}

int EventSocket::descriptor() const {
  return mnl_socket_get_fd(socket_.get());
}

EventSocket::Received EventSocket::receive(const Visit& visit) {
  const ssize_t bytes = receive_into(buffer_, socket_);
  if (bytes < 0) return Received::overflow;
  if (bytes == 0) return Received::nothing;
  MessageReader reader{std::span{buffer_}.first(static_cast<std::size_t>(bytes))};
  while (const auto message = reader.next()) visit(*message);
  return Received::messages;
}

DumpSocket::DumpSocket() : socket_(open_socket(0)), buffer_(kDatagramBytes) {
  setsockopt(mnl_socket_get_fd(socket_.get()), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  // Strict checking excludes cached routes from dumps. Older kernels include them with the flag RTM_F_CLONED.
  int on = 1;
  mnl_socket_setsockopt(socket_.get(), NETLINK_GET_STRICT_CHK, &on, sizeof on);
}

bool DumpSocket::dump(std::uint16_t type, std::uint8_t family, const Visit& visit) {
  alignas(NLMSG_ALIGNTO) std::array<std::byte, NLMSG_HDRLEN + 64> request{};
  nlmsghdr* const header = mnl_nlmsg_put_header(request.data());
  header->nlmsg_type = type;
  header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  header->nlmsg_seq = ++sequence_;
  // Each fixed part begins with the family.
  *static_cast<std::uint8_t*>(mnl_nlmsg_put_extra_header(header, header_bytes(type))) = family;
  if (mnl_socket_sendto(socket_.get(), header, header->nlmsg_len) < 0) fail("cannot ask");
  bool of_one_moment = true;
  for (;;) {
    const ssize_t bytes = receive_into(buffer_, socket_);
    if (bytes < 0) return false;
    if (bytes == 0) {
      errno = ETIMEDOUT;
      fail("no answer");
    }
    MessageReader reader{std::span{buffer_}.first(static_cast<std::size_t>(bytes))};
    while (const auto message = reader.next()) {
      if (message->sequence != sequence_) continue;
      if ((message->flags & NLM_F_DUMP_INTR) != 0) of_one_moment = false;
      const auto* const end = std::get_if<EndMessage>(&message->content);
      if (end == nullptr) {
        visit(*message);
        continue;
      }
      if (end->error == 0 || end->error == EOPNOTSUPP) return of_one_moment;
      errno = end->error;
      fail("the kernel refuses to tell");
    }
  }
}

void DumpSocket::probe(std::uint32_t interface, const std::variant<Ipv4Address, Ipv6Address>& address) {
  alignas(NLMSG_ALIGNTO) std::array<std::byte, NLMSG_HDRLEN + 64> request{};
  nlmsghdr* const header = mnl_nlmsg_put_header(request.data());
  header->nlmsg_type = RTM_NEWNEIGH;
  header->nlmsg_flags = NLM_F_REQUEST;  // Without NLM_F_CREATE a deleted neighbour stays deleted.
  header->nlmsg_seq = ++sequence_;
  auto* const neighbour = static_cast<ndmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ndmsg)));
  neighbour->ndm_ifindex = static_cast<int>(interface);
  neighbour->ndm_flags = NTF_USE;
  if (const auto* const six = std::get_if<Ipv6Address>(&address)) {
    const std::array<std::uint64_t, 2> bytes{__builtin_bswap64(six->high), __builtin_bswap64(six->low)};
    neighbour->ndm_family = AF_INET6;
    mnl_attr_put(header, NDA_DST, sizeof bytes, bytes.data());
  } else {
    neighbour->ndm_family = AF_INET;
    mnl_attr_put_u32(header, NDA_DST, __builtin_bswap32(std::get<Ipv4Address>(address).value));
  }
  // Events report the result.
  mnl_socket_sendto(socket_.get(), header, header->nlmsg_len);
}

}  // namespace penumbra::control::netlink
