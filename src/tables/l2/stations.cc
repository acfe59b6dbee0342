// SPDX-License-Identifier: Apache-2.0
#include "stations.h"

#include <stdexcept>
#include <string>

#include "l2.shader.h"
#include "penumbra/invertible.h"

namespace penumbra {
namespace {

static_assert(StationTable::kUnknown == L2_UNKNOWN);

constexpr std::uint64_t kMacMask = (std::uint64_t{1} << 48) - 1;
constexpr unsigned kMostVlan = 4095;

/// Returns the station of a digest; the inverse of l2_digest().
Station station_of(std::uint64_t seed, std::uint64_t digest) {
  constexpr std::uint64_t kFirst = inverse(L2_FACTOR_1), kSecond = inverse(L2_FACTOR_2);
  std::uint64_t x = unshifted(digest, 32) * kSecond & L2_KEY_MASK;
  x = unshifted(x, 29) * kFirst & L2_KEY_MASK;
  const std::uint64_t key = (unshifted(x, 31) ^ seed) & L2_KEY_MASK;
  return {static_cast<std::uint16_t>(key >> 48), {key & kMacMask}};
}

}  // namespace

StationTable::StationTable(std::uint64_t seed, GracePeriods& grace_periods)
    : cuckoo_("l2_lookup", {L2_KEY_BITS, L2_VALUE_BITS, kMost}, seed, grace_periods) {}

bool StationTable::insert(Station station, std::uint16_t value) {
  return cuckoo_.insert(digest(station), value);
}

bool StationTable::remove(Station station) {
  return cuckoo_.remove(digest(station));
}

std::uint16_t StationTable::find(Station station) const {
  return static_cast<std::uint16_t>(cuckoo_.find(digest(station)));
}

void StationTable::for_each(const std::function<void(Station station, std::uint16_t value)>& visit) const {
  cuckoo_.for_each([&](std::uint64_t digest, std::uint32_t value) {
    visit(station_of(cuckoo_.seed(), digest), static_cast<std::uint16_t>(value));
  });
}

std::uint64_t StationTable::digest(Station station) const {
  if (station.vlan > kMostVlan || station.mac.value > kMacMask) {
    throw std::invalid_argument("VLAN " + std::to_string(station.vlan) + ", address " + to_string(station.mac) +
                                ": a VLAN is 0 to 4095, an address has 48 bits");
  }
  return l2_digest(cuckoo_.seed(), station.key());
}

}  // namespace penumbra
