// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/addresses.h"

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "penumbra/bytes.h"

namespace penumbra::control::netlink {
namespace {

/// The kernel's own numbers are below 4. Routing daemons use the numbers of their route protocols, below 200.
constexpr std::uint8_t kOurProtocol = 0xD7;
constexpr std::size_t kAnswerBytes = 128 << 10;
constexpr timeval kAnswerTime{.tv_sec = 10, .tv_usec = 0};

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

Socket open_address_socket(int flags, unsigned groups) {
  Socket socket(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | flags));
  if (socket == nullptr || mnl_socket_bind(socket.get(), groups, MNL_SOCKET_AUTOPID) != 0) {
    fail(errno, "cannot ask the kernel for addresses");
  }
  return socket;
}

std::uint8_t family_of(const HostAddress& address) {
  return std::holds_alternative<Ipv4Address>(address.address) ? AF_INET : AF_INET6;
}

/// Appends the address in network byte order.
void put_address(nlmsghdr* header, std::uint16_t attribute, const HostAddress& address) {
  if (const auto* const four = std::get_if<Ipv4Address>(&address.address)) {
    mnl_attr_put_u32(header, attribute, __builtin_bswap32(four->value));
    return;
  }
  const auto& six = std::get<Ipv6Address>(address.address);
  const std::array<std::uint64_t, 2> bytes{__builtin_bswap64(six.high), __builtin_bswap64(six.low)};
  mnl_attr_put(header, attribute, sizeof bytes, bytes.data());
}

std::optional<std::variant<Ipv4Address, Ipv6Address>> address_in(const nlattr* attribute, std::uint8_t family) {
  const auto* const bytes = static_cast<const std::uint8_t*>(mnl_attr_get_payload(attribute));
  const std::size_t size = mnl_attr_get_payload_len(attribute);
  if (family == AF_INET && size == 4) return Ipv4Address{load_be32(bytes)};
  if (family == AF_INET6 && size == 16) return Ipv6Address{load_be64(bytes), load_be64(bytes + 8)};
  return std::nullopt;
}

}  // namespace

std::string to_string(const HostAddress& address) {
  return std::visit([](const auto& each) { return penumbra::to_string(each); }, address.address) + "/" +
         std::to_string(address.length);
}

std::vector<HostAddress> host_addresses(const PortInfo& port) {
  std::vector<HostAddress> all;
  all.reserve(port.addresses.size() + port.ipv6_addresses.size());
  for (const auto& each : port.addresses) all.push_back({each.address, each.network.length});
  for (const auto& each : port.ipv6_addresses) all.push_back({each.address, each.network.length});
  return all;
}

AddressReconciler::AddressReconciler()
    : requests_(open_address_socket(0, 0)),
      events_(open_address_socket(SOCK_NONBLOCK, RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR)),
      buffer_(kAnswerBytes) {
  setsockopt(mnl_socket_get_fd(requests_.get()), SOL_SOCKET, SO_RCVTIMEO, &kAnswerTime, sizeof kAnswerTime);
}

int AddressReconciler::descriptor() const {
  return mnl_socket_get_fd(events_.get());
}

bool AddressReconciler::changed() {
  bool any = std::exchange(fresh_, false);
  // The content of the events and losses among them do not matter, because reconcile() asks for everything.
  while (mnl_socket_recvfrom(events_.get(), buffer_.data(), buffer_.size()) >= 0 || errno == ENOBUFS ||
         errno == ENOSPC) {
    any = true;
  }
  return any;
}

void AddressReconciler::reconcile(const std::string& interface, const std::vector<HostAddress>& wanted,
                                  std::vector<HostAddress>& given) {
  const auto is_in = [](const std::vector<HostAddress>& list, const HostAddress& address) {
    return std::ranges::find(list, address) != list.end();
  };
  const unsigned index = if_nametoindex(interface.c_str());
  if (index == 0) fail(errno, "no interface " + interface);
  const auto found = ask(index);
  for (const auto& [address, ours] : found) {
    if ((ours || is_in(given, address)) && !is_in(wanted, address)) {
      change(RTM_DELADDR, index, address, EADDRNOTAVAIL);
    }
  }
  std::erase_if(given, [&](const HostAddress& address) { return !is_in(wanted, address); });
  for (const auto& address : wanted) {
    if (std::ranges::find(found, address, &Found::address) != found.end()) continue;
    change(RTM_NEWADDR, index, address, EEXIST);
    if (!is_in(given, address)) given.push_back(address);
  }
}

std::vector<AddressReconciler::Found> AddressReconciler::ask(unsigned interface) {
  alignas(NLMSG_ALIGNTO) std::array<std::byte, NLMSG_HDRLEN + 64> request{};
  nlmsghdr* const header = mnl_nlmsg_put_header(request.data());
  header->nlmsg_type = RTM_GETADDR;
  header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  header->nlmsg_seq = ++sequence_;
  mnl_nlmsg_put_extra_header(header, sizeof(ifaddrmsg));
  if (mnl_socket_sendto(requests_.get(), header, header->nlmsg_len) < 0) fail(errno, "cannot ask for addresses");
  std::vector<Found> all;
  for (;;) {
    const ssize_t bytes = mnl_socket_recvfrom(requests_.get(), buffer_.data(), buffer_.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) fail(errno, "cannot hear of addresses");
    int left = static_cast<int>(bytes);
    for (const auto* message = reinterpret_cast<const nlmsghdr*>(buffer_.data()); mnl_nlmsg_ok(message, left);
         message = mnl_nlmsg_next(message, &left)) {
      if (message->nlmsg_seq != sequence_) continue;
      if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) return all;
      const auto* const fixed = static_cast<const ifaddrmsg*>(mnl_nlmsg_get_payload(message));
      if (message->nlmsg_type != RTM_NEWADDR || fixed->ifa_index != interface) continue;
      std::optional<std::variant<Ipv4Address, Ipv6Address>> local, address;
      bool ours = false;
      const auto* const end = static_cast<const char*>(mnl_nlmsg_get_payload_tail(message));
      const auto* attribute = static_cast<const nlattr*>(mnl_nlmsg_get_payload_offset(message, sizeof(ifaddrmsg)));
      for (; mnl_attr_ok(attribute, static_cast<int>(end - reinterpret_cast<const char*>(attribute)));
           attribute = mnl_attr_next(attribute)) {
        const std::uint16_t type = mnl_attr_get_type(attribute);
        if (type == IFA_LOCAL) local = address_in(attribute, fixed->ifa_family);
        if (type == IFA_ADDRESS) address = address_in(attribute, fixed->ifa_family);
        if (type == IFA_PROTO) ours = mnl_attr_get_u8(attribute) == kOurProtocol;
      }
      if (local) address = local;  // On a point-to-point link IFA_ADDRESS is the peer's address.
      if (address) all.push_back({{*address, fixed->ifa_prefixlen}, ours});
    }
  }
}

/// Adds or removes an address. The error code `permitted` counts as success.
void AddressReconciler::change(std::uint16_t type, unsigned interface, const HostAddress& address, int permitted) {
  alignas(NLMSG_ALIGNTO) std::array<std::byte, NLMSG_HDRLEN + 128> request{};
  nlmsghdr* const header = mnl_nlmsg_put_header(request.data());
  header->nlmsg_type = type;
  header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  if (type == RTM_NEWADDR) header->nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
  header->nlmsg_seq = ++sequence_;
  auto* const fixed = static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ifaddrmsg)));
  fixed->ifa_family = family_of(address);
  fixed->ifa_prefixlen = address.length;
  fixed->ifa_index = interface;
  put_address(header, IFA_LOCAL, address);
  put_address(header, IFA_ADDRESS, address);
  mnl_attr_put_u8(header, IFA_PROTO, kOurProtocol);
  const std::string what = (type == RTM_NEWADDR ? "cannot add " : "cannot remove ") + to_string(address);
  if (mnl_socket_sendto(requests_.get(), header, header->nlmsg_len) < 0) fail(errno, what);
  for (;;) {
    const ssize_t bytes = mnl_socket_recvfrom(requests_.get(), buffer_.data(), buffer_.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) fail(errno, what);
    int left = static_cast<int>(bytes);
    for (const auto* message = reinterpret_cast<const nlmsghdr*>(buffer_.data()); mnl_nlmsg_ok(message, left);
         message = mnl_nlmsg_next(message, &left)) {
      if (message->nlmsg_seq != sequence_ || message->nlmsg_type != NLMSG_ERROR) continue;
      const int error = -static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(message))->error;
      if (error != 0 && error != permitted) fail(error, what);
      return;
    }
  }
}

}  // namespace penumbra::control::netlink
