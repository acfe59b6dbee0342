// SPDX-License-Identifier: Apache-2.0
#include "io/traffic_family.h"

#include <netinet/in.h>

#include "io/packet_bytes.h"

namespace penumbra::io {
namespace {

/// Returns true for 169.254.0.0/16, which no router forwards (RFC 3927, section 7).
bool is_link_local(Ipv4Address address) {
  return address.value >> 16 == 0xA9FE;
}

Ipv4Address unicast_address(Random& random) {
  const std::uint64_t bits = random.next();
  const auto place = static_cast<std::uint32_t>((bits >> 32) * 222 >> 32);  // Maps to 1 to 126 and 128 to 223.
  const Ipv4Address address{(place < 126 ? place + 1 : place + 2) << 24 | static_cast<std::uint32_t>(bits & 0xFFFFFF)};
  return is_link_local(address) ? Ipv4Address{address.value + 0x10000} : address;
}

/// Returns an address in 2000::/3, the range of all assigned global addresses (RFC 4291, section 2.4; IANA's registry).
Ipv6Address global_address(Random& random) {
  const std::uint64_t high = random.next();
  return {std::uint64_t{1} << 61 | high >> 3, random.next()};
}

Ipv4Address any_address_of(const Ipv4Prefix& prefix, Random& random) {
  return {prefix.address.value | (static_cast<std::uint32_t>(random.next()) & ~prefix.mask())};
}
Ipv6Address any_address_of(const Ipv6Prefix& prefix, Random& random) {
  const Ipv6Address mask = prefix.mask();
  const std::uint64_t high = random.next();
  return {prefix.address.high | (high & ~mask.high), prefix.address.low | (random.next() & ~mask.low)};
}

bool is_forwarded(Ipv4Address address) {
  return address.is_unicast() && !is_link_local(address);
}
bool is_forwarded(Ipv6Address address) {
  return address.is_unicast() && !address.is_link_local();
}

/// Returns a random address of a random prefix. The address is forwarded if the prefix has such addresses.
template <class Prefix>
auto address_in(const std::vector<Prefix>& prefixes, Random& random) {
  const Prefix& prefix = prefixes[random.below(static_cast<std::uint32_t>(prefixes.size()))];
  auto address = any_address_of(prefix, random);
  for (int attempt = 1; attempt < 64 && !is_forwarded(address); ++attempt) address = any_address_of(prefix, random);
  return address;
}

/// Returns ports from the lower 34 bits.
TransportFlow some_ports(std::uint64_t bits) {
  return {.source_port = static_cast<std::uint16_t>(1024 + (bits & 0x7FFF)),
          .destination_port = static_cast<std::uint16_t>(1 + (bits >> 16 & 0x3FF)),
          .protocol = IPPROTO_UDP};
}

/// Draws the parts that flows of both families share: addresses and UDP ports. Returns random bits, of which the upper
/// 30 are unused.
template <class Flow, class Address, class Prefix>
std::uint64_t draw(Flow& flow, Address (*any_address)(Random&), Random& random, const std::vector<Prefix>& prefixes) {
  flow.source = any_address(random);
  flow.destination = prefixes.empty() ? any_address(random) : address_in(prefixes, random);
  const std::uint64_t bits = random.next();
  flow.transport = some_ports(bits);
  return bits;
}

}  // namespace

Ipv4Traffic::Flow Ipv4Traffic::random_flow(Random& random, const std::vector<Ipv4Prefix>& prefixes) {
  Flow flow;
  const std::uint64_t bits = draw(flow, &unicast_address, random, prefixes);
  if ((bits >> 32 & 3) == 0) flow.transport.protocol = IPPROTO_TCP;
  return flow;
}

void Ipv4Traffic::write_packet(const Flow& flow, std::uint64_t index, Random& random, std::uint8_t* ip,
                               std::size_t bytes) {
  ip[0] = 0x45;
  store_be16(ip + 2, static_cast<std::uint16_t>(bytes));
  store_be16(ip + 4, static_cast<std::uint16_t>(index));
  ip[8] = static_cast<std::uint8_t>(2 + random.below(254));
  ip[9] = flow.transport.protocol;
  store_address(ip + 12, flow.source);
  store_address(ip + 16, flow.destination);
  write_ipv4_checksum(ip);
  write_segment(flow.transport, index, ip + kIpv4Bytes, bytes - kIpv4Bytes, ones_sum(ip + 12, 8));
}

Ipv6Traffic::Flow Ipv6Traffic::random_flow(Random& random, const std::vector<Ipv6Prefix>& prefixes) {
  Flow flow;
  const std::uint64_t bits = draw(flow, &global_address, random, prefixes);
  if ((bits >> 32 & 3) != 0) flow.label = static_cast<std::uint32_t>(bits >> 34 & 0xFFFFF);
  return flow;
}

void Ipv6Traffic::write_packet(const Flow& flow, std::uint64_t index, Random& random, std::uint8_t* ip,
                               std::size_t bytes) {
  store_be32(ip, 0x6000'0000 | flow.label);
  store_be16(ip + 4, static_cast<std::uint16_t>(bytes - kIpv6Bytes));
  ip[6] = flow.transport.protocol;
  ip[7] = static_cast<std::uint8_t>(2 + random.below(254));
  store_address(ip + 8, flow.source);
  store_address(ip + 24, flow.destination);
  write_segment(flow.transport, index, ip + kIpv6Bytes, bytes - kIpv6Bytes, ones_sum(ip + 8, 32));
}

}  // namespace penumbra::io
