// SPDX-License-Identifier: Apache-2.0
//
// Packets for the tests of detection.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penumbra/packet.h"

namespace penumbra::ids {

using Bytes = std::vector<std::uint8_t>;

inline void append(Bytes& bytes, std::string_view text) {
  bytes.insert(bytes.end(), text.begin(), text.end());
}
inline void append16(Bytes& bytes, unsigned value) {
  bytes.push_back(static_cast<std::uint8_t>(value >> 8));
  bytes.push_back(static_cast<std::uint8_t>(value));
}

/// An IPv4 packet from 10.0.0.SOURCE to 10.0.0.DESTINATION in Ethernet.
struct Packet {
  std::uint8_t source = 1, destination = 2, protocol = ip_protocol::kUdp, ttl = 64, tcp_flags = 0x10;
  std::uint16_t source_port = 1000, destination_port = 53;
  // NOLINTNEXTLINE(readability-redundant-member-init): initialisers may omit the members
  std::string payload = {}, ip_options = {};

  Bytes frame() const {
    Bytes bytes(12, 0);
    append16(bytes, ethertype::kIpv4);
    Bytes transport;
    if (protocol == ip_protocol::kIcmp) {
      transport = {8, 0, 0, 0, 0x12, 0x34, 0, 7};
    } else {
      append16(transport, source_port);
      append16(transport, destination_port);
      if (protocol == ip_protocol::kUdp) {
        append16(transport, static_cast<unsigned>(8 + payload.size()));
        append16(transport, 0);
      } else {
        transport.insert(transport.end(), {0, 0, 0, 1, 0, 0, 0, 2, 0x50, tcp_flags, 0x10, 0, 0, 0, 0, 0});
      }
    }
    append(transport, payload);
    const std::size_t header = 20 + ip_options.size();
    bytes.push_back(static_cast<std::uint8_t>(0x40 + header / 4));
    bytes.push_back(4);
    append16(bytes, static_cast<unsigned>(header + transport.size()));
    bytes.insert(bytes.end(), {0, 9, 0x40, 0, ttl, protocol, 0, 0, 10, 0, 0, source, 10, 0, 0, destination});
    append(bytes, ip_options);
    bytes.insert(bytes.end(), transport.begin(), transport.end());
    return bytes;
  }
};

/// The frames of a connection from 10.0.0.1:1000 to 10.0.0.2:PORT.
class TcpFrames {
 public:
  static constexpr std::uint8_t kFin = 1, kSyn = 2, kAck = 16;
  explicit TcpFrames(std::uint16_t port = 80) : port_(port) {}

  /// Returns the three frames that open the connection.
  std::array<Bytes, 3> handshake() {
    Bytes syn = segment(true, "", kSyn);
    ++next_[1];
    Bytes answer = segment(false, "", kSyn | kAck);
    ++next_[0];
    return {std::move(syn), std::move(answer), segment(true, "")};
  }
  /// Returns a segment, `after` bytes later than the next one. With 0, the next one follows the segment.
  Bytes segment(bool client, const std::string& payload, std::uint8_t flags = kAck, std::int32_t after = 0) {
    const Packet packet{.source = static_cast<std::uint8_t>(client ? 1 : 2),
                        .destination = static_cast<std::uint8_t>(client ? 2 : 1),
                        .protocol = ip_protocol::kTcp,
                        .tcp_flags = flags,
                        .source_port = client ? std::uint16_t{1000} : port_,
                        .destination_port = client ? port_ : std::uint16_t{1000},
                        .payload = payload};
    Bytes frame = packet.frame();
    put(frame, 38, next_[client ? 1 : 0] + static_cast<std::uint32_t>(after));
    put(frame, 42, next_[client ? 0 : 1]);
    frame[48] = 0xFF;  // the window
    if (after == 0) next_[client ? 1 : 0] += static_cast<std::uint32_t>(payload.size());
    return frame;
  }

 private:
  static void put(Bytes& frame, std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) frame[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  }

  std::uint16_t port_;
  std::array<std::uint32_t, 2> next_{5000, 0xFFFFFFF0};  ///< The sequence numbers of the server and the client.
};

}  // namespace penumbra::ids
