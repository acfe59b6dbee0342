// SPDX-License-Identifier: Apache-2.0
//
// What is around NDN packets on a link: Ethernet (0x8624), or Ethernet, IP and UDP.
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
  not_ndn,       ///< another function's, or the host's
  unknown_face,  ///< an NDN packet, but from nobody who is a face
  truncated,     ///< shorter than its lengths say
  bad_checksum,
  segmented,  ///< the frame does not lie in one piece
};

/// What arrived by a face.
struct Received {
  std::uint16_t face = 0;
  std::uint16_t udp_port = 0;  ///< the sender's; 0 without UDP
  bool padded = false;         ///< what follows the packet may be padding
  Bytes packet;
};

class Transport {
 public:
  static constexpr std::size_t kMostHeaderBytes = 14 + 40 + 8;

  explicit Transport(std::vector<Face> faces) : table_(std::move(faces)) {}

  const std::vector<Face>& faces() const { return table_.faces(); }
  /// The ports are open.
  void bind(std::span<const PortInfo> ports);

  /// Of a frame of `bytes` bytes, those of `frame` at hand, 14 at least, that came by a port.
  Arrival receive(Bytes frame, std::size_t bytes, std::uint16_t port, Received& received) const;

  std::size_t header_bytes(std::uint16_t face) const { return headers_[face].size; }
  /// Writes the header in front of a packet that follows it. `udp_port` counts if the face's remote end has none.
  void write_header(std::uint16_t face, std::uint16_t udp_port, std::uint8_t* at, std::size_t packet_bytes) const;

 private:
  struct Header {
    std::array<std::uint8_t, kMostHeaderBytes> bytes{};
    std::size_t size = 0;
  };

  Arrival receive_udp(Bytes frame, std::size_t bytes, std::uint16_t port, Received& received) const;

  FaceTable table_;
  std::vector<Header> headers_;  ///< by face, but for lengths and checksums
};

}  // namespace penumbra::ndn
