// SPDX-License-Identifier: Apache-2.0
//
// Builds frames for tests from a specification and computes all checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "functions/gswitch/packet_key.h"
#include "testing/packet.h"

namespace penumbra::gswitch::testing_support {

using function_testing::append;
using function_testing::Bytes;

/// Specifies a frame. The default is UDP over IPv4.
struct FrameSpec {
  std::uint64_t destination_mac = 0x020000000002, source_mac = 0x020000000001;
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::optional<std::uint16_t> tag = {};
  std::uint16_t tag_type = ethertype::kTag;
  std::uint16_t type = ethertype::kIpv4;  ///< for another type the payload follows directly
  std::uint32_t source = 0x0A000001, destination = 0x0A000002;
  std::uint8_t protocol = kUdp, tos = 0;
  std::uint16_t source_port = 1024, destination_port = 53;  ///< type and code of ICMP
  std::uint16_t fragment = 0;                               ///< flags and offset
  std::uint8_t option_words = 0;
  bool has_udp_checksum = true;
  Bytes payload = {1, 2, 3, 4, 5};

  bool has_transport() const { return type == ethertype::kIpv4 && (fragment & 0x1FFF) == 0; }
  Bytes bytes() const;
};

inline Bytes transport_of(const FrameSpec& spec) {
  Bytes bytes;
  std::size_t checksum_at = 0;
  if (spec.protocol == kTcp) {
    append(bytes, std::uint64_t{spec.source_port} << 16 | spec.destination_port, 4);
    append(bytes, 0x0102030405060708, 8);
    append(bytes, 0x5010'2000'0000'0000, 8);
    checksum_at = 16;
  } else if (spec.protocol == kUdp) {
    append(bytes, std::uint64_t{spec.source_port} << 16 | spec.destination_port, 4);
    append(bytes, 8 + spec.payload.size(), 2);
    append(bytes, 0, 2);
    checksum_at = 6;
  } else if (spec.protocol == kIcmp) {
    append(bytes, std::uint64_t{spec.source_port} << 8 | spec.destination_port, 2);
    append(bytes, 0x0000'1234'0001, 6);
    checksum_at = 2;
  }
  bytes.insert(bytes.end(), spec.payload.begin(), spec.payload.end());
  if (checksum_at == 0 || (spec.protocol == kUdp && !spec.has_udp_checksum)) return bytes;
  Bytes summed;
  if (spec.protocol != kIcmp) {
    append(summed, std::uint64_t{spec.source} << 32 | spec.destination, 8);
    append(summed, spec.protocol, 2);
    append(summed, bytes.size(), 2);
  }
  summed.insert(summed.end(), bytes.begin(), bytes.end());
  std::uint16_t sum = function_testing::checksum(summed);
  if (spec.protocol == kUdp && sum == 0) sum = 0xFFFF;
  bytes[checksum_at] = static_cast<std::uint8_t>(sum >> 8);
  bytes[checksum_at + 1] = static_cast<std::uint8_t>(sum);
  return bytes;
}

inline Bytes FrameSpec::bytes() const {
  Bytes frame;
  append(frame, destination_mac, 6);
  append(frame, source_mac, 6);
  if (tag) append(frame, std::uint64_t{tag_type} << 16 | *tag, 4);
  append(frame, type, 2);
  if (type != ethertype::kIpv4) {
    frame.insert(frame.end(), payload.begin(), payload.end());
    return frame;
  }
  const Bytes rest = has_transport() ? transport_of(*this) : payload;
  const std::size_t header_bytes = 20 + std::size_t{4} * option_words;
  Bytes header{static_cast<std::uint8_t>(0x40 | header_bytes / 4), tos};
  append(header, header_bytes + rest.size(), 2);
  append(header, 0x1234, 2);
  append(header, fragment, 2);
  append(header, std::uint64_t{64} << 8 | protocol, 2);
  append(header, 0, 2);
  append(header, std::uint64_t{source} << 32 | destination, 8);
  header.resize(header_bytes, 1);  // NOP
  const std::uint16_t sum = function_testing::checksum(header);
  header[10] = static_cast<std::uint8_t>(sum >> 8);
  header[11] = static_cast<std::uint8_t>(sum);
  frame.insert(frame.end(), header.begin(), header.end());
  frame.insert(frame.end(), rest.begin(), rest.end());
  return frame;
}

}  // namespace penumbra::gswitch::testing_support
