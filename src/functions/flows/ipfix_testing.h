// SPDX-License-Identifier: Apache-2.0
//
// Implements a collector for tests: a UDP socket and an independent decoder of messages (RFC 7011, section 3).
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "penumbra/bytes.h"

namespace penumbra::flows::testing_support {

using Bytes = std::vector<std::uint8_t>;
/// Lists the numbers of information elements in IANA's registry.
enum Element : std::uint16_t {
  kOctets = 1,
  kPackets = 2,
  kProtocol = 4,
  kTcpFlags = 6,
  kSourcePort = 7,
  kSource4 = 8,
  kDestinationPort = 11,
  kDestination4 = 12,
  kSource6 = 27,
  kDestination6 = 28,
  kIcmpType4 = 32,
  kVlan = 58,
  kEndReason = 136,
  kIcmpType6 = 139,
  kStart = 152,
  kEnd = 153,
};
/// Maps the elements of a record to its fields.
using Record = std::map<std::uint16_t, Bytes>;

inline std::uint64_t number(const Record& record, std::uint16_t element) {
  std::uint64_t value = 0;
  for (const std::uint8_t byte : record.at(element)) value = value << 8 | byte;
  return value;
}

class Collector {
 public:
  Collector() : socket_(::socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    const int room = 8 << 20;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) {
      throw std::runtime_error("no socket for a collector");
    }
    port_ = ntohs(address.sin_port);
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  /// Reads all messages that have arrived. With `wait`, waits for the first message.
  void collect(bool wait = false) {
    std::array<std::uint8_t, 65'536> bytes;
    for (;; wait = false) {
      const auto length = ::recv(socket_.get(), bytes.data(), bytes.size(), wait ? 0 : MSG_DONTWAIT);
      if (length < 0) return;
      read(Bytes(bytes.begin(), bytes.begin() + length));
    }
  }

  std::vector<Record> records;
  std::map<std::uint16_t, std::vector<std::pair<std::uint16_t, std::uint16_t>>> templates;
  std::uint32_t next_sequence = 0;
  std::uint32_t domain = 0;
  std::size_t messages = 0, template_messages = 0;

 private:
  void read(const Bytes& message) {
    ++messages;
    ASSERT_GE(message.size(), 16U);
    ASSERT_LE(message.size(), 1400U);
    EXPECT_EQ(load_be16(&message[0]), 10) << "version";
    ASSERT_EQ(load_be16(&message[2]), message.size());
    EXPECT_EQ(load_be32(&message[8]), next_sequence);
    domain = load_be32(&message[12]);
    std::size_t at = 16;
    while (at < message.size()) {
      ASSERT_LE(at + 4, message.size());
      const std::uint16_t set = load_be16(&message[at]);
      const std::size_t end = at + load_be16(&message[at + 2]);
      ASSERT_LE(end, message.size());
      at += 4;
      if (set == 2) {
        read_templates(message, at, end);
      } else {
        ASSERT_TRUE(templates.contains(set)) << "a record before its template";
        while (at < end) read_record(message, templates[set], at);
      }
      at = end;
    }
  }
  void read_templates(const Bytes& message, std::size_t at, std::size_t end) {
    ++template_messages;
    while (at < end) {
      auto& fields = templates[load_be16(&message[at])];
      fields.clear();
      const std::size_t count = load_be16(&message[at + 2]);
      at += 4;
      for (std::size_t i = 0; i < count; ++i, at += 4) {
        fields.emplace_back(load_be16(&message[at]), load_be16(&message[at + 2]));
      }
    }
  }
  void read_record(const Bytes& message, const std::vector<std::pair<std::uint16_t, std::uint16_t>>& fields,
                   std::size_t& at) {
    Record& record = records.emplace_back();
    ++next_sequence;
    for (const auto& [element, bytes] : fields) {
      ASSERT_LE(at + bytes, message.size());
      record[element] = Bytes(message.begin() + static_cast<std::ptrdiff_t>(at),
                              message.begin() + static_cast<std::ptrdiff_t>(at + bytes));
      at += bytes;
    }
  }

  FileDescriptor socket_;
  std::uint16_t port_ = 0;
};

}  // namespace penumbra::flows::testing_support
