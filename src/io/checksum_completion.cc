// SPDX-License-Identifier: Apache-2.0
#include "io/checksum_completion.h"

#include "packet/checksum.h"
#include "packet/parse.h"
#include "penumbra/bytes.h"

namespace penumbra::io {
namespace {

/// True for a whole TCP or UDP packet. Of IPv6, the pseudo header does not have the destination of a routing header,
/// and senders complete the checksums of packets with other extension headers than options.
bool may_be_partial(const PacketHeaders& headers) {
  constexpr unsigned kOptions = ipv6_extension::kHopByHopBit | ipv6_extension::kDestinationBit;
  const bool is_tcp_or_udp = headers.protocol == ip_protocol::kTcp || headers.protocol == ip_protocol::kUdp;
  const bool is_whole = !headers.has(PacketHeaders::kFragment) && !headers.has(PacketHeaders::kTruncated);
  return headers.is_ip() && is_tcp_or_udp && is_whole && !headers.is_unparsable() &&
         (headers.extensions & ~kOptions) == 0;
}

}  // namespace

bool complete_checksum(std::span<std::uint8_t> frame) noexcept {
  const PacketHeaders headers = parse_headers(std::as_bytes(frame));
  if (!may_be_partial(headers)) return false;
  const std::size_t bytes = headers.end - headers.transport;
  const std::uint8_t* const ip = frame.data() + headers.network;
  std::uint8_t* const transport = frame.data() + headers.transport;
  std::uint8_t* const field = transport + (headers.protocol == ip_protocol::kTcp ? 16 : 6);
  const std::uint64_t pseudo_header = headers.has(PacketHeaders::kIpv4) ? ipv4_pseudo_sum(ip, headers.protocol, bytes)
                                                                        : ipv6_pseudo_sum(ip, headers.protocol, bytes);
  // A folded sum is never 0, so UDP without a checksum is left alone.
  if (load<std::uint16_t>(field) != folded(pseudo_header)) return false;
  // The sum includes the pseudo header, because the field holds the pseudo header's sum.
  const std::uint64_t sum = ones_sum(transport, bytes);
  if (is_right_sum(sum + pseudo_header)) return false;
  store(field, nonzero_checksum_of(sum));
  return true;
}

}  // namespace penumbra::io
