// SPDX-License-Identifier: Apache-2.0
#include "io/traffic.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "control/routes.h"
#include "io/packet_bytes.h"
#include "io/traffic_family.h"

namespace penumbra::io {
namespace {

constexpr double kTwoTo64 = 18446744073709551616.0;

/// Returns the smallest whole number that is at least share * 2^64.
std::uint64_t scale(double share) {
  const double scaled = std::ceil(share * kTwoTo64);
  return scaled >= kTwoTo64 ? UINT64_MAX : static_cast<std::uint64_t>(scaled);
}

std::size_t imix_bytes(Random& random, std::uint16_t least) {
  const std::uint32_t draw = random.below(12);
  return draw < 7 ? least : draw < 11 ? 590 : 1514;
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

template <class Family>
std::vector<typename Family::Prefix> prefixes_of(const control::SynthSource& source) {
  if (source.destinations != control::SynthSource::Destinations::prefixes) return {};
  std::vector<typename Family::Prefix> prefixes;
  for (const auto& route : control::read_routes<Family>(source.routes, {}).routes) prefixes.push_back(route.prefix);
  if (prefixes.empty()) throw InputError({source.routes.string()}, "has no route to take destinations from");
  return prefixes;
}

}  // namespace

Traffic::Traffic(const control::SynthSource& source, const TrafficMix& mix)
    : Traffic(source, source.ipv6 ? Prefixes(prefixes_of<Ipv6>(source)) : Prefixes(prefixes_of<Ipv4>(source)), mix) {}

Traffic::Traffic(const control::SynthSource& source, Prefixes prefixes, const TrafficMix& mix)
    : source_(source), mix_(mix), prefixes_(std::move(prefixes)), odd_below_(scale(mix.odd_share)) {
  if (source.destinations == control::SynthSource::Destinations::zipf) zipf_ = cumulate(source.flows, source.exponent);
}

std::size_t Traffic::fill(std::uint64_t index, std::span<std::uint8_t> frame) const {
  return source_.ipv6 ? fill_as<Ipv6Traffic>(index, frame) : fill_as<Ipv4Traffic>(index, frame);
}

template <class Family>
std::size_t Traffic::fill_as(std::uint64_t index, std::span<std::uint8_t> frame) const {
  const auto& prefixes = std::get<std::vector<typename Family::Prefix>>(prefixes_);
  // The seed is mixed first. Otherwise the streams of neighbouring seeds would be shifted copies of each other.
  Random random(Random(source_.seed).next() ^ index * 0xD1342543DE82EF95U);
  const bool odd = random.next() < odd_below_;
  typename Family::Flow flow;
  if (zipf_.empty()) {
    flow = Family::random_flow(random, prefixes);
  } else {
    const auto rank = std::upper_bound(zipf_.begin(), zipf_.end() - 1, random.next()) - zipf_.begin();
    Random of_flow(Random(source_.seed ^ 0x5EED0F1075U).next() ^
                   static_cast<std::uint64_t>(rank) * 0xD1342543DE82EF95U);
    flow = Family::random_flow(of_flow, prefixes);
  }
  const std::size_t bytes = source_.frame_bytes == 0 ? imix_bytes(random, source_.least_frame()) : source_.frame_bytes;

  std::memset(frame.data(), 0, bytes);
  store_mac(frame.data(), mix_.destination);
  store_mac(frame.data() + 6, {0x0200000001FE});
  store_be16(frame.data() + 12, Family::kEthertype);
  Family::write_packet(flow, index, random, frame.data() + kEthernetBytes, bytes - kEthernetBytes);
  return odd ? Family::make_odd(random, frame.data(), bytes) : bytes;
}

}  // namespace penumbra::io
