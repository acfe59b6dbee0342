// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa_engine/message.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace penumbra::rsa_engine {
namespace {

constexpr std::size_t kParts = 7;
constexpr std::size_t kLengthBytes = 2;

std::array<std::span<const std::uint8_t>*, kParts> parts_of(rsa::KeyParts& parts) {
  return {&parts.modulus,   &parts.public_exponent, &parts.prime1,     &parts.prime2,
          &parts.exponent1, &parts.exponent2,       &parts.coefficient};
}

}  // namespace

bool send_message(int socket, MessageHead head, std::span<const std::uint8_t> rest, int descriptor) {
  std::array<iovec, 2> parts{{{&head, sizeof head}, {const_cast<std::uint8_t*>(rest.data()), rest.size()}}};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = rest.empty() ? 1 : 2;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    if (rights == nullptr) return false;
    *rights = {.cmsg_len = CMSG_LEN(sizeof descriptor), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  ssize_t sent = -1;
  do {
    sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

Receipt receive_message(int socket, std::span<std::uint8_t> room, Message& received, FileDescriptor* passed) {
  iovec part{room.data(), room.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (passed != nullptr) {
    // The padding of CMSG_SPACE has room for a second descriptor. The kernel closes what has no room.
    message.msg_control = control.data();
    message.msg_controllen = CMSG_LEN(sizeof(int));
  }
  ssize_t got = -1;
  do {
    got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Receipt::nothing;
  if (passed != nullptr && got >= 0) {
    const cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
        rights->cmsg_len == CMSG_LEN(sizeof(int))) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(rights), sizeof descriptor);
      *passed = FileDescriptor(descriptor);
    }
  }
  const auto length = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  if (length < sizeof received.head || (message.msg_flags & MSG_TRUNC) != 0) return Receipt::ended;
  std::memcpy(&received.head, room.data(), sizeof received.head);
  received.rest = room.first(length).subspan(sizeof received.head);
  return Receipt::message;
}

std::size_t write_key(std::span<std::uint8_t> room, const rsa::KeyParts& key) {
  rsa::KeyParts parts = key;
  std::size_t at = kParts * kLengthBytes, i = 0;
  if (room.size() < at) return 0;
  for (const auto* part : parts_of(parts)) {
    if (part->size() > kMostMessage || room.size() - at < part->size()) return 0;
    room[i++] = static_cast<std::uint8_t>(part->size() >> 8);
    room[i++] = static_cast<std::uint8_t>(part->size());
    std::ranges::copy(*part, room.subspan(at).begin());
    at += part->size();
  }
  return at;
}

std::optional<rsa::KeyParts> read_key(std::span<const std::uint8_t> rest) {
  std::size_t at = kParts * kLengthBytes, i = 0;
  if (rest.size() < at) return std::nullopt;
  rsa::KeyParts parts;
  for (auto* part : parts_of(parts)) {
    const std::size_t length = std::size_t{rest[i]} << 8 | rest[i + 1];
    i += kLengthBytes;
    if (rest.size() - at < length) return std::nullopt;
    *part = rest.subspan(at, length);
    at += length;
  }
  if (at != rest.size()) return std::nullopt;
  return parts;
}

}  // namespace penumbra::rsa_engine
