// SPDX-License-Identifier: Apache-2.0
#include "io/checksum_completion.h"

#include <arpa/inet.h>

#include <cstring>
#include <optional>

#include "io/packet_bytes.h"
#include "penumbra/bytes.h"

namespace penumbra::io {
namespace {

constexpr std::size_t kIpv6Bytes = 40;
constexpr std::size_t kVlanBytes = 4;
constexpr unsigned kMostVlans = 2;
constexpr unsigned kMostOptions = 4;
constexpr std::uint16_t kIpv4 = 0x0800, kIpv6 = 0x86DD, kVlan = 0x8100, kServiceVlan = 0x88A8;
constexpr std::uint8_t kTcp = 6, kUdp = 17, kHopByHop = 0, kDestinationOptions = 60;

/// The transport segment of a frame, and the network header's fields of the pseudo header.
struct Segment {
  std::span<std::uint8_t> bytes;
  std::span<const std::uint8_t> addresses;  ///< Source and destination.
  std::uint8_t protocol = 0;
};

/// Returns the ones' complement sum, not yet folded, in the machine's byte order. The byte order does not change the
/// checksum (RFC 1071, section 2 B). An odd last byte is padded with 0.
std::uint64_t sum_of(std::span<const std::uint8_t> bytes) {
  std::uint64_t sum = 0;
  std::size_t at = 0;
  for (std::uint32_t word = 0; at + sizeof word <= bytes.size(); at += sizeof word) {
    std::memcpy(&word, bytes.data() + at, sizeof word);
    sum += word;
  }
  std::uint32_t rest = 0;
  std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
  return sum + rest;
}

/// Folds a sum to 16 bits. Returns 0 only for 0.
std::uint16_t folded(std::uint64_t sum) {
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

std::optional<Segment> segment_of_ipv4(std::span<std::uint8_t> packet) {
  if (packet.size() < kIpv4Bytes || packet[0] >> 4 != 4) return std::nullopt;
  const std::size_t header = (packet[0] & 0xFU) * std::size_t{4}, total = load_be16(&packet[2]);
  // More fragments follow, or this is not the first fragment.
  const bool fragment = (load_be16(&packet[6]) & 0x3FFF) != 0;
  if (fragment || header < kIpv4Bytes || total < header || total > packet.size()) return std::nullopt;
  return Segment{packet.subspan(header, total - header), packet.subspan(12, 8), packet[9]};
}

std::optional<Segment> segment_of_ipv6(std::span<std::uint8_t> packet) {
  if (packet.size() < kIpv6Bytes || packet[0] >> 4 != 6) return std::nullopt;
  const std::size_t length = load_be16(&packet[4]);
  if (length > packet.size() - kIpv6Bytes) return std::nullopt;
  Segment segment{packet.subspan(kIpv6Bytes, length), packet.subspan(8, 32), packet[6]};
  for (unsigned i = 0; i < kMostOptions; ++i) {
    if (segment.protocol != kHopByHop && segment.protocol != kDestinationOptions) return segment;
    if (segment.bytes.size() < 8) return std::nullopt;
    const std::size_t options = (segment.bytes[1] + std::size_t{1}) * 8;
    if (options > segment.bytes.size()) return std::nullopt;
    segment.protocol = segment.bytes[0];
    segment.bytes = segment.bytes.subspan(options);
  }
  return std::nullopt;
}

std::optional<Segment> segment_of(std::span<std::uint8_t> frame) {
  std::size_t at = kEthernetBytes;
  for (unsigned vlans = 0; vlans <= kMostVlans && at <= frame.size(); ++vlans, at += kVlanBytes) {
    const std::uint16_t type = load_be16(&frame[at - 2]);
    if (type == kIpv4) return segment_of_ipv4(frame.subspan(at));
    if (type == kIpv6) return segment_of_ipv6(frame.subspan(at));
    if (type != kVlan && type != kServiceVlan) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

bool complete_checksum(std::span<std::uint8_t> frame) noexcept {
  const std::optional<Segment> segment = segment_of(frame);
  if (!segment || (segment->protocol != kTcp && segment->protocol != kUdp)) return false;
  const std::size_t field_at = segment->protocol == kTcp ? 16 : 6;
  const std::size_t least = segment->protocol == kTcp ? 20 : 8;
  if (segment->bytes.size() < least) return false;
  std::uint16_t field = 0;
  std::memcpy(&field, &segment->bytes[field_at], sizeof field);
  const auto length = static_cast<std::uint16_t>(segment->bytes.size());
  const std::uint64_t pseudo_header = sum_of(segment->addresses) + htons(segment->protocol) + htons(length);
  // A folded sum is never 0, so UDP without a checksum is left alone.
  if (field != folded(pseudo_header)) return false;
  // The sum includes the pseudo header, because the field holds the pseudo header's sum.
  const std::uint64_t sum = sum_of(segment->bytes);
  if (folded(sum + pseudo_header) == 0xFFFF) return false;
  const auto checksum = static_cast<std::uint16_t>(~folded(sum));
  field = checksum == 0 ? 0xFFFF : checksum;  // RFC 768: 0 would mean that there is no checksum.
  std::memcpy(&segment->bytes[field_at], &field, sizeof field);
  return true;
}

}  // namespace penumbra::io
