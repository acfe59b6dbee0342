// SPDX-License-Identifier: Apache-2.0
//
// Builds frames for tests from a description, with all checksums, and the key that a frame must have.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "packet/packet_key.h"
#include "testing/packet.h"

namespace penumbra::packet_fields::testing_support {

using function_testing::append;
using function_testing::Bytes;

struct Tag {
  std::uint16_t type = ethertype::kTag, tci = 0;
  bool operator==(const Tag&) const = default;
};

/// Describes a frame. The default is UDP over IPv4.
struct FrameSpec {
  std::uint64_t eth_src = 0x020000000001, eth_dst = 0x020000000002;
  std::vector<Tag> tags;  ///< outermost first
  std::uint16_t type =
      ethertype::kIpv4;  ///< for a type that is not IP the payload follows directly; of MPLS it begins with labels
  Number source{0, 0x0A000001}, destination{0, 0x0A000002};
  std::uint8_t protocol = ip_protocol::kUdp, tos = 0, ttl = 64;
  std::uint32_t label = 0;
  std::uint16_t source_port = 1024, destination_port = 53;  ///< type and code of ICMPv6
  std::uint16_t tcp_flags = 0x010;
  std::uint16_t fragment = 0;  ///< flags and offset of IPv4
  bool has_udp_checksum = true;
  Bytes payload = {1, 2, 3, 4, 5};

  bool is_ip() const { return type == ethertype::kIpv4 || type == ethertype::kIpv6; }
  bool has_transport() const { return is_ip() && (fragment & 0x1FFF) == 0; }
  bool has_ports() const {
    return has_transport() &&
           (protocol == ip_protocol::kTcp || protocol == ip_protocol::kUdp || protocol == ip_protocol::kSctp);
  }
  Bytes bytes() const;
  SparseWords key(std::uint16_t in_port) const;
};

inline Bytes addresses_of(const FrameSpec& spec) {
  Bytes bytes;
  for (const Number& address : {spec.source, spec.destination}) {
    if (spec.type == ethertype::kIpv6) append(bytes, address.high, 8);
    append(bytes, address.low, spec.type == ethertype::kIpv6 ? 8 : 4);
  }
  return bytes;
}

/// Returns the CRC32c of the bytes in SCTP's order (RFC 9260, appendix A), bit by bit.
inline std::uint32_t crc32c_of(const Bytes& bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
  }
  return __builtin_bswap32(~crc);
}

inline Bytes transport_of(const FrameSpec& spec) {
  Bytes bytes;
  if (spec.protocol == ip_protocol::kSctp) {
    append(bytes, std::uint64_t{spec.source_port} << 16 | spec.destination_port, 4);
    append(bytes, 0x01020304'00000000, 8);
    bytes.insert(bytes.end(), spec.payload.begin(), spec.payload.end());
    Bytes sum;
    append(sum, crc32c_of(bytes), 4);
    std::ranges::copy(sum, bytes.begin() + 8);
    return bytes;
  }
  std::size_t checksum_at = 0;
  if (spec.protocol == ip_protocol::kTcp) {
    append(bytes, std::uint64_t{spec.source_port} << 16 | spec.destination_port, 4);
    append(bytes, 0x0102030405060708, 8);
    append(bytes, 0x5000U | spec.tcp_flags, 2);
    append(bytes, 0x2000'0000'0000, 6);
    checksum_at = 16;
  } else if (spec.protocol == ip_protocol::kUdp) {
    append(bytes, std::uint64_t{spec.source_port} << 16 | spec.destination_port, 4);
    append(bytes, (8 + spec.payload.size()) << 16, 4);
    checksum_at = 6;
  } else if (spec.protocol == ip_protocol::kIcmpv6 && spec.type == ethertype::kIpv6) {
    append(bytes, std::uint64_t{spec.source_port} << 8 | spec.destination_port, 2);
    append(bytes, 0x0000'1234'0001, 6);
    checksum_at = 2;
  }
  bytes.insert(bytes.end(), spec.payload.begin(), spec.payload.end());
  if (checksum_at == 0 || (spec.protocol == ip_protocol::kUdp && !spec.has_udp_checksum)) return bytes;
  Bytes summed = addresses_of(spec);
  append(summed, spec.protocol, 2);
  append(summed, bytes.size(), 2);
  summed.insert(summed.end(), bytes.begin(), bytes.end());
  std::uint16_t sum = function_testing::checksum(summed);
  if (spec.protocol == ip_protocol::kUdp && sum == 0) sum = 0xFFFF;
  bytes[checksum_at] = static_cast<std::uint8_t>(sum >> 8);
  bytes[checksum_at + 1] = static_cast<std::uint8_t>(sum);
  return bytes;
}

inline Bytes FrameSpec::bytes() const {
  Bytes frame;
  append(frame, eth_dst, 6);
  append(frame, eth_src, 6);
  for (const Tag& tag : tags) append(frame, std::uint64_t{tag.type} << 16 | tag.tci, 4);
  append(frame, type, 2);
  const Bytes rest = has_transport() ? transport_of(*this) : payload;
  if (type == ethertype::kIpv4) {
    Bytes header{0x45, tos};
    append(header, 20 + rest.size(), 2);
    append(header, 0x1234, 2);
    append(header, fragment, 2);
    append(header, std::uint64_t{ttl} << 8 | protocol, 2);
    append(header, 0, 2);
    const Bytes addresses = addresses_of(*this);
    header.insert(header.end(), addresses.begin(), addresses.end());
    const std::uint16_t sum = function_testing::checksum(header);
    header[10] = static_cast<std::uint8_t>(sum >> 8);
    header[11] = static_cast<std::uint8_t>(sum);
    frame.insert(frame.end(), header.begin(), header.end());
  } else if (type == ethertype::kIpv6) {
    append(frame, 0x60000000U | std::uint32_t{tos} << 20 | label, 4);
    append(frame, rest.size(), 2);
    append(frame, std::uint64_t{protocol} << 8 | ttl, 2);
    const Bytes addresses = addresses_of(*this);
    frame.insert(frame.end(), addresses.begin(), addresses.end());
  }
  frame.insert(frame.end(), rest.begin(), rest.end());
  return frame;
}

/// The words are written as base/packet_fields.h places them, without the table of fields.
inline SparseWords FrameSpec::key(std::uint16_t in_port) const {
  const bool is_double = tags.size() > 1;
  SparseWords key{};
  key[0] = eth_src << 16 | in_port;
  key[1] = eth_dst << 16 | (is_double ? tags[1].type : type);
  if (!tags.empty()) key[2] = std::uint64_t{tags[0].type} << 48 | std::uint64_t{tags[0].tci | 0x1000U} << 32;
  if (is_double) return key;
  if (is_mpls(type) && payload.size() >= 4) key[5] = load_be32(payload.data());
  if (!is_ip()) return key;
  if (type == ethertype::kIpv4) {
    key[3] = source.low << 32 | destination.low;
  } else {
    key[5] = std::uint64_t{label} << 32;
    key[6] = source.high;
    key[7] = source.low;
    key[8] = destination.high;
    key[9] = destination.low;
  }
  const bool is_later = (fragment & 0x1FFF) != 0;
  const std::uint64_t frag = is_later ? 3 : (fragment & 0x2000) != 0 ? 1 : 0;
  key[4] = std::uint64_t{protocol} << 24 | std::uint64_t{tos} << 16 | std::uint64_t{ttl} << 8 | frag;
  if (has_ports() || (has_transport() && protocol == ip_protocol::kIcmpv6 && type == ethertype::kIpv6)) {
    key[4] |= std::uint64_t{source_port} << 48 | std::uint64_t{destination_port} << 32;
  }
  if (has_ports() && protocol == ip_protocol::kTcp) key[2] |= std::uint64_t{tcp_flags} << 16;
  return key;
}

/// Returns a frame whose fields have few values, so that frames often agree in some of them.
inline FrameSpec random_frame(Random& random, std::size_t most_tags = 1) {
  constexpr std::array<std::uint8_t, 5> kProtocols{ip_protocol::kTcp, ip_protocol::kUdp, ip_protocol::kIcmpv6,
                                                   ip_protocol::kSctp, 47};
  constexpr std::array<std::uint16_t, 6> kFragments{0, 0, 0, 0x4000, 0x2000, 0x2010};
  constexpr std::array<std::uint16_t, 7> kTypes{
      ethertype::kIpv4, ethertype::kIpv4, ethertype::kIpv6, ethertype::kIpv6, 0x88B5, 0x8847, 0x8848};
  const auto few = [&random](std::uint64_t base) { return base + random.below(4); };
  FrameSpec spec;
  spec.eth_src = few(0x020000000000);
  spec.eth_dst = few(0x020000000100);
  spec.type = kTypes.at(random.below(kTypes.size()));
  for (std::size_t i = random.below(static_cast<std::uint32_t>(most_tags + 1)); i > 0; --i) {
    spec.tags.push_back({random.below(4) == 0 ? ethertype::kServiceTag : ethertype::kTag,
                         static_cast<std::uint16_t>(random.below(4) << 13 | random.below(3))});
  }
  spec.source = {0, few(0x0A000000)};
  spec.destination = {0, few(0x0A000100)};
  if (spec.type == ethertype::kIpv6) {
    spec.source.high = few(0x20010DB800000000);
    spec.destination.high = few(0x20010DB800010000);
    spec.label = random.below(3);
  }
  spec.protocol = kProtocols.at(random.below(kProtocols.size()));
  spec.tos = static_cast<std::uint8_t>(random.below(4) << 1);
  spec.ttl = static_cast<std::uint8_t>(few(62));
  spec.source_port = static_cast<std::uint16_t>(random.below(4));
  spec.destination_port = static_cast<std::uint16_t>(random.below(4));
  spec.tcp_flags = static_cast<std::uint16_t>(random.below(4) << 1);
  if (spec.type == ethertype::kIpv4) spec.fragment = kFragments.at(random.below(kFragments.size()));
  spec.has_udp_checksum = random.below(4) != 0;
  spec.payload.resize(8 + random.below(40));
  for (std::uint8_t& byte : spec.payload) byte = static_cast<std::uint8_t>(random.below(is_mpls(spec.type) ? 4 : 256));
  return spec;
}

}  // namespace penumbra::packet_fields::testing_support
