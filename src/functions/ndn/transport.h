// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the headers before NDN packets on a link: Ethernet (0x8624), or Ethernet, IP and UDP.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "functions/forwarding/ethernet.h"
#include "functions/ndn/face.h"
#include "tables/ndn_names/name_tlv.h"

namespace penumbra::ndn {

inline constexpr std::uint16_t kEthertype = 0x8624;

enum class Arrival : std::uint8_t {
  received,
  not_ndn,       ///< for another function or the host
  unknown_face,  ///< an NDN packet from a sender without a face
  truncated,     ///< shorter than its length fields
  bad_checksum,
  segmented,  ///< the frame has several segments
};

/// Represents a packet that a face received.
struct Received {
  std::uint16_t face = 0;
  std::uint16_t udp_port = 0;  ///< UDP port of the sender; 0 without UDP
  bool padded = false;         ///< true if padding may follow the packet
  Bytes packet;
};

class Transport {
 public:
  static constexpr std::size_t kMostHeaderBytes = 14 + 40 + 8;

  explicit Transport(std::vector<Face> faces) : table_(std::move(faces)) {}

  const std::vector<Face>& faces() const { return table_.faces(); }
  /// Builds the headers of all faces. The ports must be open.
  void bind(std::span<const PortInfo> ports);

  /// Finds the face of a packet that arrived at `port`. The first segment has at least 14 bytes.
  Arrival receive(rte_mbuf& packet, std::uint16_t port, Received& received) const;

  std::size_t header_bytes(std::uint16_t face) const { return headers_[face].size; }
  /// Writes the header before a packet. `udp_port` is used only if the face's remote end has no UDP port.
  void write_header(std::uint16_t face, std::uint16_t udp_port, std::uint8_t* at, std::size_t packet_bytes) const;

 private:
  struct Header {
    std::array<std::uint8_t, kMostHeaderBytes> bytes{};
    std::size_t size = 0;
  };

  Arrival receive_udp(rte_mbuf& packet, Bytes frame, std::uint16_t port, Received& received) const;

  FaceTable table_;
  std::vector<Header> headers_;  ///< by face, without lengths and checksums
};

}  // namespace penumbra::ndn
