// SPDX-License-Identifier: Apache-2.0
//
// Plans and finishes seals and opens of any frame. Authenticated peers may be hostile, too: what was deciphered is any
// bytes. The first byte selects the SA, the second the number of deciphered bytes. No call may read or write outside
// the buffers, and an opened frame must have an IP packet of its length.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "functions/ipsec/esp.h"
#include "functions/ipsec/ip_fields.h"
#include "packet/parse.h"
#include "testing/fuzzing.h"

namespace penumbra::ipsec {
namespace {

SaFormat format_of_byte(std::uint8_t byte) {
  SaFormat format;
  format.spi = 1;
  format.is_tunnel = (byte & 1U) != 0;
  format.is_ipv6 = (byte & 2U) != 0;
  format.has_udp = (byte & 4U) != 0;
  format.copies_dscp_in = (byte & 8U) != 0;
  format.has_digest = true;
  format.tag_bytes = 12;
  if ((byte & 16U) != 0) {
    format.iv = IvKind::random;
    format.iv_bytes = format.alignment = 16;
  }
  format.tfc_bytes = (byte & 32U) != 0 ? 200 : 0;
  return format;
}

void seal(const SaFormat& format, std::vector<std::uint8_t> frame, const PacketHeaders& headers) {
  SealPlan plan;
  if (plan_seal(format, frame.data(), headers, Aging::ages, plan) != EspFault::none) return;
  fuzzing::require(plan.payload_at + plan.payload_bytes == headers.end);
  fuzzing::require((plan.payload_bytes + plan.trailer_bytes) % format.alignment == 0);
  if (format.is_tunnel) decrement_inner(frame.data(), headers);
  std::vector<std::uint8_t> trailer(plan.trailer_bytes), made(plan.head_bytes + plan.esp_bytes);
  write_trailer(format, plan, trailer.data());
  write_seal_head(format, plan, frame.data(), headers, 1, made.data());
  const PacketHeaders outer = parse_headers(made.data(), made.size(), made.size());
  fuzzing::require(outer.is_ip() && outer.end == made.size());
}

void open(const SaFormat& format, const std::vector<std::uint8_t>& frame, const PacketHeaders& headers,
          std::uint32_t bytes) {
  const std::uint32_t udp = format.has_udp ? kUdpHeaderBytes : 0;
  OpenPlan plan;
  if (headers.end < headers.transport + udp) return;
  if (plan_open(format, headers, headers.transport + udp, plan) != EspFault::none) return;
  bytes = std::min(bytes, plan.esp_bytes);
  // The deciphered bytes are those of the packet.
  std::vector<std::uint8_t> made(plan.head_bytes + bytes);
  std::memcpy(made.data() + plan.head_bytes, frame.data() + plan.esp_at, bytes);
  std::uint32_t length = 0;
  if (finish_open(format, plan, frame.data(), headers, made.data(), bytes, length) != EspFault::none) return;
  fuzzing::require(length <= made.size() && length > headers.network);
  const PacketHeaders inner = parse_headers(made.data(), length, length);
  fuzzing::require(inner.fault == HeaderFault::none || inner.fault != HeaderFault::ip_length);
}

}  // namespace
}  // namespace penumbra::ipsec

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penumbra;
  constexpr std::size_t kFixed = 2;
  if (size < kFixed) return 0;
  const ipsec::SaFormat format = ipsec::format_of_byte(data[0]);
  const std::vector<std::uint8_t> frame(data + kFixed, data + size);
  const PacketHeaders headers = parse_headers(frame.data(), frame.size(), frame.size());
  if (headers.is_unparsable() || !headers.is_ip() || headers.has(PacketHeaders::kTruncated)) return 0;
  ipsec::seal(format, frame, headers);
  if (!headers.has(PacketHeaders::kFragment)) ipsec::open(format, frame, headers, data[1]);
  return 0;
}
