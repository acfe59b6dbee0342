// SPDX-License-Identifier: Apache-2.0
//
// Parses the parts of a packet that a forwarder needs (NDN Packet Format Specification 0.3, "Interest Packet" and "Data
// Packet"). Packets may use the link protocol NDNLPv2. The functions only read bytes.
#pragma once

#include <cstdint>

#include "tables/ndn_names/name_tlv.h"

namespace penumbra::ndn {

inline constexpr std::uint32_t kInterestType = 0x05, kDataType = 0x06, kNameType = 0x07, kNonceType = 0x0A;

// NDNLPv2 defines these field types.
inline constexpr std::uint32_t kLpPacketType = 0x64, kFragmentType = 0x50, kSequenceType = 0x51, kFragIndexType = 0x52,
                               kFragCountType = 0x53, kPitTokenType = 0x62, kNackType = 0x0320,
                               kNackReasonType = 0x0321, kAckType = 0x0344;
inline constexpr std::size_t kMostTokenBytes = 32;
inline constexpr std::uint64_t kNackNoReason = 0, kNackNoRoute = 150;

enum class PacketKind : std::uint8_t { interest, data, nack };

/// Lists the errors of the parser.
enum class PacketFault : std::uint8_t {
  none,
  malformed,         ///< violates the format
  unknown_type,      ///< neither Interest nor Data nor LpPacket
  unknown_lp_field,  ///< an unknown NDNLPv2 field that must not be ignored
  fragmented,        ///< one of several fragments
  idle,              ///< an LpPacket without content
};

/// Represents a parsed packet. All members refer to the bytes that were parsed.
struct NdnPacket {
  PacketKind kind = PacketKind::interest;
  Bytes network;  ///< the Interest or Data with type and length; for a Nack the Interest
  Bytes name;     ///< components of the name
  Bytes token;    ///< PIT token of the packet, or empty
  std::uint64_t nack_reason = kNackNoReason;
  const std::uint8_t* hop_limit = nullptr;    ///< hop limit of the Interest, or null
  const std::uint8_t* nonce_place = nullptr;  ///< position for the Nonce of an Interest without one, else null
};

/// Parses the packet at the beginning of `bytes`. Trailing bytes are allowed as padding if `padded` is set; otherwise
/// they are an error.
PacketFault parse_packet(Bytes bytes, bool padded, NdnPacket& packet);

/// True if a name begins with /localhost. Packets with such a name must not cross a link (NFD: "scope control").
bool is_localhost(Bytes name);

}  // namespace penumbra::ndn
