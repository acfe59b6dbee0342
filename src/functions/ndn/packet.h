// SPDX-License-Identifier: Apache-2.0
//
// What a forwarder must understand of a packet: NDN Packet Format Specification 0.3 ("Interest Packet", "Data Packet"),
// in a frame of the link protocol NDNLPv2 or without. Pure functions over bytes.
#pragma once

#include <cstdint>

#include "tables/ndn_names/name_tlv.h"

namespace penumbra::ndn {

inline constexpr std::uint32_t kInterestType = 0x05, kDataType = 0x06, kNameType = 0x07, kNonceType = 0x0A;

// NDNLPv2's fields.
inline constexpr std::uint32_t kLpPacketType = 0x64, kFragmentType = 0x50, kSequenceType = 0x51, kFragIndexType = 0x52,
                               kFragCountType = 0x53, kPitTokenType = 0x62, kNackType = 0x0320,
                               kNackReasonType = 0x0321, kAckType = 0x0344;
inline constexpr std::size_t kMostTokenBytes = 32;
inline constexpr std::uint64_t kNackNoReason = 0, kNackNoRoute = 150;

enum class PacketKind : std::uint8_t { interest, data, nack };

/// Why a packet cannot be understood.
enum class PacketFault : std::uint8_t {
  none,
  malformed,         ///< it breaks the format
  unknown_type,      ///< neither Interest nor Data nor LpPacket
  unknown_lp_field,  ///< a field of NDNLPv2 that may not be ignored
  fragmented,        ///< one of several fragments
  idle,              ///< an LpPacket with nothing in it
};

/// Parts of the bytes that it was parsed from.
struct NdnPacket {
  PacketKind kind = PacketKind::interest;
  Bytes network;  ///< the Interest or Data, with type and length; of a Nack the Interest
  Bytes name;     ///< its name's components
  Bytes token;    ///< the PIT token that came with it, or empty
  std::uint64_t nack_reason = kNackNoReason;
  const std::uint8_t* hop_limit = nullptr;    ///< the Interest's, if it has one
  const std::uint8_t* nonce_place = nullptr;  ///< of an Interest without a Nonce: where it belongs
};

/// Understands what stands at the beginning of `bytes`. What follows it is padding if `padded`, else a fault.
PacketFault parse_packet(Bytes bytes, bool padded, NdnPacket& packet);

/// Whether a name begins with /localhost, so that no packet of it may cross a link (NFD: "scope control").
bool is_localhost(Bytes name);

}  // namespace penumbra::ndn
