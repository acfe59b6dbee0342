// SPDX-License-Identifier: Apache-2.0
#include "io/traffic.h"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "control/routes.h"
#include "io/odd_packets.h"
#include "io/packet_bytes.h"

namespace penumbra::io {
namespace {

constexpr double kTwoTo64 = 18446744073709551616.0;

/// The smallest whole number that is not below share * 2^64.
std::uint64_t scale(double share) {
  const double scaled = std::ceil(share * kTwoTo64);
  return scaled >= kTwoTo64 ? UINT64_MAX : static_cast<std::uint64_t>(scaled);
}

/// What is the same for all packets of a flow.
struct Flow {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint8_t protocol = IPPROTO_UDP;
};

std::uint32_t unicast_address(Random& random) {
  const std::uint64_t bits = random.next();
  const auto place = static_cast<std::uint32_t>((bits >> 32) * 222 >> 32);  // 1 to 126 and 128 to 223
  return (place < 126 ? place + 1 : place + 2) << 24 | static_cast<std::uint32_t>(bits & 0xFFFFFF);
}

/// A prefix, each as likely as the other, and any address of it; unicast if the prefix has such.
std::uint32_t address_in(const std::vector<Ipv4Prefix>& prefixes, Random& random) {
  const Ipv4Prefix& prefix = prefixes[random.below(static_cast<std::uint32_t>(prefixes.size()))];
  std::uint32_t address = 0;
  for (int attempt = 0; attempt < 64; ++attempt) {
    address = prefix.address.value | (static_cast<std::uint32_t>(random.next()) & ~prefix.mask());
    if (Ipv4Address{address}.is_unicast()) break;
  }
  return address;
}

Flow random_flow(Random& random, const std::vector<Ipv4Prefix>& prefixes) {
  Flow flow;
  flow.source = unicast_address(random);
  flow.destination = prefixes.empty() ? unicast_address(random) : address_in(prefixes, random);
  const std::uint64_t bits = random.next();
  flow.source_port = static_cast<std::uint16_t>(1024 + (bits & 0x7FFF));
  flow.destination_port = static_cast<std::uint16_t>(1 + (bits >> 16 & 0x3FF));
  flow.protocol = (bits >> 32 & 3) == 0 ? IPPROTO_TCP : IPPROTO_UDP;
  return flow;
}

std::size_t imix_bytes(Random& random) {
  const std::uint32_t draw = random.below(12);
  return draw < 7 ? 60 : draw < 11 ? 590 : 1514;
}

void write_transport(const Flow& flow, std::uint64_t index, std::uint8_t* ip, std::size_t ip_bytes) {
  std::uint8_t* transport = ip + kIpv4Bytes;
  const std::size_t bytes = ip_bytes - kIpv4Bytes;
  store16(transport, flow.source_port);
  store16(transport + 2, flow.destination_port);
  std::size_t checksum_at = 6, header_bytes = 8;
  if (flow.protocol == IPPROTO_TCP) {
    checksum_at = 16, header_bytes = 20;
    store32(transport + 4, static_cast<std::uint32_t>(index));
    transport[12] = 5 << 4;  // header of 5 words
    transport[13] = 0x10;    // ACK
    store16(transport + 14, 0xFFFF);
  } else {
    store16(transport + 4, static_cast<std::uint16_t>(bytes));
  }
  store16(transport + header_bytes, static_cast<std::uint16_t>(index >> 32));
  store32(transport + header_bytes + 2, static_cast<std::uint32_t>(index));
  // The pseudo header, then the segment up to its last byte that is not 0.
  std::uint32_t sum = flow.protocol + static_cast<std::uint32_t>(bytes);
  sum += ones_sum(ip + 12, 8) + ones_sum(transport, header_bytes + 6);
  const std::uint16_t checksum = fold(sum);
  store16(transport + checksum_at, checksum == 0 ? 0xFFFF : checksum);
}

std::vector<std::uint64_t> cumulate(std::uint32_t flows, double exponent) {
  std::vector<double> sums(flows);
  double sum = 0;
  for (std::uint32_t flow = 0; flow < flows; ++flow) {
    sum += std::pow(flow + 1.0, -exponent);
    sums[flow] = sum;
  }
  std::vector<std::uint64_t> scaled(flows);
  std::transform(sums.begin(), sums.end(), scaled.begin(), [sum](double part) { return scale(part / sum); });
  return scaled;
}

std::vector<Ipv4Prefix> prefixes_of(const control::SynthSource& source) {
  if (source.destinations != control::SynthSource::Destinations::prefixes) return {};
  std::vector<Ipv4Prefix> prefixes;
  for (const control::Route& route : control::read_routes(source.routes, {}).routes) prefixes.push_back(route.prefix);
  if (prefixes.empty()) throw InputError({source.routes.string()}, "has no route to take destinations from");
  return prefixes;
}

}  // namespace

Traffic::Traffic(const control::SynthSource& source, const TrafficMix& mix)
    : Traffic(source, prefixes_of(source), mix) {}

Traffic::Traffic(const control::SynthSource& source, std::vector<Ipv4Prefix> prefixes, const TrafficMix& mix)
    : source_(source), mix_(mix), prefixes_(std::move(prefixes)), odd_below_(scale(mix.odd_share)) {
  if (source.destinations == control::SynthSource::Destinations::zipf) zipf_ = cumulate(source.flows, source.exponent);
}

std::size_t Traffic::fill(std::uint64_t index, std::span<std::uint8_t> frame) const {
  // The seed is spread first, or streams of neighbouring seeds would be one another's, shifted.
  Random random(Random(source_.seed).next() ^ index * 0xD1342543DE82EF95U);
  const bool odd = random.next() < odd_below_;
  Flow flow;
  if (zipf_.empty()) {
    flow = random_flow(random, prefixes_);
  } else {
    const auto rank = std::upper_bound(zipf_.begin(), zipf_.end() - 1, random.next()) - zipf_.begin();
    Random of_flow(Random(source_.seed ^ 0x5EED0F1075U).next() ^
                   static_cast<std::uint64_t>(rank) * 0xD1342543DE82EF95U);
    flow = random_flow(of_flow, prefixes_);
  }
  const std::size_t bytes = source_.frame_bytes == 0 ? imix_bytes(random) : source_.frame_bytes;

  std::memset(frame.data(), 0, bytes);
  store48(frame.data(), mix_.destination.value);
  store48(frame.data() + 6, 0x0200000001FE);
  store16(frame.data() + 12, 0x0800);
  std::uint8_t* ip = frame.data() + kEthernetBytes;
  ip[0] = 0x45;
  store16(ip + 2, static_cast<std::uint16_t>(bytes - kEthernetBytes));
  store16(ip + 4, static_cast<std::uint16_t>(index));
  ip[8] = static_cast<std::uint8_t>(2 + random.below(254));
  ip[9] = flow.protocol;
  store32(ip + 12, flow.source);
  store32(ip + 16, flow.destination);
  write_checksum(ip);
  write_transport(flow, index, ip, bytes - kEthernetBytes);
  return odd ? make_odd(random, frame.data(), bytes) : bytes;
}

}  // namespace penumbra::io
