// SPDX-License-Identifier: Apache-2.0
#include "functions/megaflows/meter.h"

#include <algorithm>
#include <utility>

namespace penumbra::megaflows {
namespace {

constexpr std::uint64_t kTicksOfNs = 64, kTicksOfMs = kTicksOfNs * 1'000'000;
/// A kilobit is 1000 bits, and a packet 1000 thousandths. So a rate is the volume of a millisecond.
constexpr std::uint64_t kVolumeOfUnit = 1000;

}  // namespace

Meter::Meter(MeterConfig config) : config_(std::move(config)), bands_(config_.bands.size()) {
  constexpr double kMostTicks = 0x1p62;
  for (std::size_t i = 0; i < bands_.size(); ++i) {
    const MeterBand& from = config_.bands[i];
    const double depth = static_cast<double>(from.burst) * kVolumeOfUnit * kTicksOfMs / from.rate;
    bands_[i].rate = from.rate;
    bands_[i].depth = static_cast<std::uint64_t>(std::min(depth, kMostTicks));
  }
}

void Meter::Counts::add(std::uint32_t more) noexcept {
  packets.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(more, std::memory_order_relaxed);
}

MeterCounts::Packets Meter::Counts::get() const noexcept {
  return {.packets = packets.load(std::memory_order_relaxed), .bytes = bytes.load(std::memory_order_relaxed)};
}

bool Meter::pay(Band& band, std::uint64_t volume, std::uint64_t now) noexcept {
  const std::uint64_t cost = volume * kTicksOfMs / band.rate;
  std::uint64_t arrival = band.arrival.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t next = std::max(arrival, now) + cost;
    if (next - now > band.depth) return false;
    if (band.arrival.compare_exchange_weak(arrival, next, std::memory_order_relaxed)) return true;
  }
}

bool Meter::admit(std::uint32_t bytes, std::uint64_t now_ns) noexcept {
  constexpr std::uint64_t kBitsOfByte = 8;
  const std::uint64_t volume = config_.counts_packets ? kVolumeOfUnit : bytes * kBitsOfByte;
  in_.add(bytes);
  Band* exceeded = nullptr;
  for (Band& band : bands_) {
    if (pay(band, volume, now_ns * kTicksOfNs)) continue;
    if (exceeded == nullptr || band.rate > exceeded->rate) exceeded = &band;
  }
  if (exceeded == nullptr) return true;
  exceeded->dropped.add(bytes);
  return false;
}

MeterCounts Meter::counts() const {
  MeterCounts counts{.in = in_.get(), .dropped = {}};
  for (const Band& band : bands_) counts.dropped.push_back(band.dropped.get());
  return counts;
}

}  // namespace penumbra::megaflows
