// SPDX-License-Identifier: Apache-2.0
#include "io/transport_header.h"

#include <netinet/in.h>

#include "io/packet_bytes.h"

namespace penumbra::io {

void write_segment(const TransportFlow& flow, std::uint64_t index, std::uint8_t* segment, std::size_t bytes,
                   std::uint64_t addresses_sum) {
  constexpr std::size_t kNumberBytes = 6;
  store_be16(segment, flow.source_port);
  store_be16(segment + 2, flow.destination_port);
  std::size_t checksum_at = 6, header_bytes = 8;
  if (flow.protocol == IPPROTO_TCP) {
    checksum_at = 16, header_bytes = 20;
    store_be32(segment + 4, static_cast<std::uint32_t>(index));
    segment[12] = 5 << 4;  // Header of 5 words.
    segment[13] = 0x10;    // ACK.
    store_be16(segment + 14, 0xFFFF);
  } else {
    store_be16(segment + 4, static_cast<std::uint16_t>(bytes));
  }
  std::size_t written = header_bytes;
  if (bytes >= header_bytes + kNumberBytes) {
    store_be16(segment + header_bytes, static_cast<std::uint16_t>(index >> 32));
    store_be32(segment + header_bytes + 2, static_cast<std::uint32_t>(index));
    written += kNumberBytes;
  }
  // The sum covers the pseudo header and the segment up to its last byte that is not 0.
  const std::uint64_t pseudo_sum =
      addresses_sum + __builtin_bswap16(flow.protocol) + __builtin_bswap16(static_cast<std::uint16_t>(bytes));
  store(segment + checksum_at, nonzero_checksum_of(pseudo_sum + ones_sum(segment, written)));
}

}  // namespace penumbra::io
