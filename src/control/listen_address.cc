// SPDX-License-Identifier: Apache-2.0
#include "control/listen_address.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "penumbra/errors.h"

namespace penumbra::control {

ListenAddress read_listen(const ConfigNode& node) {
  const std::string text = node.text();
  const auto endpoint = parse_endpoint(text);
  if (!endpoint || endpoint->is_group_or_broadcast()) {
    throw node.error("expected an address of this machine with a TCP port (A.B.C.D:PORT or [X:X::X]:PORT), found " +
                     quote(text));
  }
  if (endpoint->is_link_local()) {
    throw node.error(quote(text) + " is link-local and does not say on which link; take another address, or [::]");
  }
  return {.text = text, .endpoint = *endpoint, .location = node.location()};
}

FileDescriptor listen_at(const ListenAddress& at, std::string_view who, int type) {
  FileDescriptor socket(::socket(at.endpoint.family(), type, 0));
  const int on = 1;
  // [::] shall mean all IPv6 addresses only: another program may use 0.0.0.0.
  const bool one_family =
      at.endpoint.family() == AF_INET || ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0;
  const bool listens =
      socket && one_family && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      ::bind(socket.get(), at.endpoint.get(), at.endpoint.bytes) == 0 && ::listen(socket.get(), SOMAXCONN) == 0;
  if (listens) return socket;
  throw InputError(at.location, fmt::format("{}: cannot listen on {}: {}", who, at.text, std::strerror(errno)));
}

}  // namespace penumbra::control
