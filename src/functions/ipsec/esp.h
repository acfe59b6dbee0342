// SPDX-License-Identifier: Apache-2.0
//
// Encapsulates and decapsulates packets in ESP (RFC 4303), in tunnel and transport mode, with and without UDP (RFC
// 3948). This is plain code over bytes; cipher jobs (src/crypto/jobs) do the enciphering in between.
//
//   seal: plan_seal(), write_trailer(), write_seal_job(), the job, write_seal_head()
//   open: plan_open(), write_open_job(), the job, finish_open()
//
// A seal's job reads the payload and its trailer where the packet lies. It writes the ESP header, the IV, the
// ciphertext and the tag to another buffer, in which write_seal_head() puts the headers before them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "control/xfrm/model.h"
#include "crypto/jobs/cipher_jobs.shader.h"
#include "penumbra/packet.h"

namespace penumbra::ipsec {

inline constexpr std::uint32_t kEspHeaderBytes = 8, kUdpHeaderBytes = 8;
inline constexpr std::uint32_t kSaltBytes = CIPHER_SALT;

/// Where the IV of a packet comes from.
enum class IvKind : std::uint8_t {
  none,
  counter,  ///< 8 bytes: the sequence number
  random,   ///< 16 bytes that nobody can predict (CBC)
};

/// The fields of an SA that the format of its packets depends on.
struct SaFormat {
  std::uint32_t spi = 0;
  std::uint32_t key = 0;  ///< Index in the table of keys.
  IvKind iv = IvKind::none;
  std::uint8_t iv_bytes = 0, tag_bytes = 0;
  std::uint8_t alignment = 4;     ///< Of the ciphertext, bytes.
  bool has_digest = false;        ///< The tag is an HMAC; otherwise it is an AEAD's.
  bool authenticates_iv = false;  ///< The additional data contain the IV (GMAC, RFC 4543).
  bool is_tunnel = true, has_esn = false, has_udp = false;
  bool is_ipv6 = false;          ///< Of the outer header.
  bool ignores_ecn = false;      ///< XFRM_STATE_NOECN
  bool clears_df = false;        ///< XFRM_STATE_NOPMTUDISC
  bool copies_dscp_in = false;   ///< XFRM_STATE_DECAP_DSCP
  bool clears_dscp_out = false;  ///< XFRM_SA_XFLAG_DONT_ENCAP_DSCP
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint32_t tfc_bytes = 0;  ///< Shorter payload of a tunnel is padded to this length (RFC 4303, section 2.7).
  std::array<std::uint8_t, 16> source{}, destination{};
};

/// Returns the format of an SA that is not larval. The index of the key is 0.
SaFormat format_of(const control::xfrm::SaSettings& settings);

/// Returns by how many bytes ESP may enlarge an IP packet at most.
std::uint32_t overhead_of(const SaFormat& format);

/// Returns the longest IP packet whose sealed packet has at most `mtu` bytes, which is at least 1280.
std::uint32_t inner_mtu(const SaFormat& format, std::uint32_t mtu);

/// Why a packet cannot be sealed or opened.
enum class EspFault : std::uint8_t {
  none,
  not_transportable,  ///< seal: transport mode, and the packet is a fragment or has other addresses or another family
  too_long,           ///< seal: the result exceeds an IP packet
  ttl,                ///< seal: the TTL is used up
  cut,                ///< open: fewer bytes than ESP has, or no whole block
  bad_pad,            ///< open: the padding is not 1, 2, 3 ...
  bad_inner,          ///< open: the next header or a length of the inner packet is wrong
  dummy,              ///< open: a packet without content (next header 59)
  bad_ecn,            ///< open: the tunnel met congestion, and the inner packet takes no mark (RFC 6040)
};

/// Positions and lengths of a seal. Offsets count from the first byte of the frame.
struct SealPlan {
  std::uint32_t payload_at = 0, payload_bytes = 0;  ///< What is enciphered, without its trailer.
  std::uint32_t trailer_bytes = 0;                  ///< TFC padding, padding, pad length and next header.
  std::uint32_t head_bytes = 0;                     ///< Of the new frame, before the ESP header.
  std::uint32_t esp_bytes = 0;                      ///< ESP header, IV, ciphertext and tag.
  bool ages = false;                                ///< The TTL of the inner packet is decremented.
  std::uint16_t next_header_at = 0;                 ///< Transport mode: of the field that becomes ESP or UDP.
  std::uint8_t next_header = 0;
};

/// Tells whether a tunnel decrements the TTL of a packet (RFC 4301, section 5.1.2.1).
enum class Aging : std::uint8_t {
  ages,
  keeps,  ///< The packet was routed into the tunnel, and its TTL decremented there.
};

/// Plans a seal of an IP packet, whose headers the frame has in one piece.
EspFault plan_seal(const SaFormat& format, const std::uint8_t* frame, const PacketHeaders& headers, Aging aging,
                   SealPlan& plan);
/// Writes the trailer of `plan.trailer_bytes` bytes, which follows the payload.
void write_trailer(const SaFormat& format, const SealPlan& plan, std::uint8_t* trailer);
/// Writes the job. `iv` has 16 bytes; only an SA with a random IV reads it.
void write_seal_job(const SaFormat& format, const std::uint8_t* salt, std::uint64_t number, const std::uint8_t* iv,
                    cipher_job& job);
/// Writes the headers before ESP into `to`, which has room for `plan.head_bytes`; the ESP packet follows there. In
/// tunnel mode decrement_inner() was called before if `plan.ages`. `identification` is that of IPv4.
void write_seal_head(const SaFormat& format, const SealPlan& plan, const std::uint8_t* frame,
                     const PacketHeaders& headers, std::uint16_t identification, std::uint8_t* to);
/// Decrements the TTL of a packet that a tunnel forwards (RFC 4301, section 5.1.2.1).
void decrement_inner(std::uint8_t* frame, const PacketHeaders& headers);

/// Positions and lengths of an open. Offsets count from the first byte of the frame.
struct OpenPlan {
  std::uint32_t esp_at = 0, esp_bytes = 0;
  std::uint32_t head_bytes = 0;  ///< Of the new frame, before the deciphered bytes.
};

/// Plans an open of an ESP packet at `esp_at`. `headers` describes the frame.
EspFault plan_open(const SaFormat& format, const PacketHeaders& headers, std::uint32_t esp_at, OpenPlan& plan);
/// Writes the job. `esp` points to the ESP header.
void write_open_job(const SaFormat& format, const std::uint8_t* salt, std::uint64_t number, const std::uint8_t* esp,
                    cipher_job& job);
/// Checks what was deciphered and makes the frame of the inner packet. `to` is the new frame: `plan.head_bytes` bytes
/// of room, and `bytes` deciphered bytes. `frame_bytes` becomes the length of the new frame.
EspFault finish_open(const SaFormat& format, const OpenPlan& plan, const std::uint8_t* frame,
                     const PacketHeaders& headers, std::uint8_t* to, std::uint32_t bytes, std::uint32_t& frame_bytes);

}  // namespace penumbra::ipsec
