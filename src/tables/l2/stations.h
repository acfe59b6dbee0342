// SPDX-License-Identifier: Apache-2.0
//
// The owner of a switch's stations: VLAN and MAC address with a value in, looked up by the shader `l2_lookup`
// (l2.shader.h). A CuckooTable whose digests are the keys themselves, permuted: a lookup reads one cache line, or two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "penumbra/ip.h"
#include "tables/cuckoo/cuckoo.h"

namespace penumbra {

/// A MAC address in a VLAN.
struct Station {
  std::uint16_t vlan = 0;  ///< 0 to 4095
  MacAddress mac;

  /// As the shader's column has it.
  std::uint64_t key() const { return std::uint64_t{vlan} << 48 | mac.value; }
  auto operator<=>(const Station&) const = default;
};

/// Up to kMost stations and their values (1 to 65535). One thread changes and asks it; lookups on any thread go through
/// table() and an engine. A change that throws has changed nothing.
class StationTable {
 public:
  static constexpr std::size_t kMost = std::size_t{64} << 20;
  static constexpr std::uint16_t kUnknown = 0;  ///< what a lookup gives for a station that is not there

  /// An empty table, published. With a seed that nobody knows, nobody can choose addresses that meet in a bucket.
  /// `grace_periods` outlives it.
  StationTable(std::uint64_t seed, GracePeriods& grace_periods);

  /// These are CuckooTable's. Throw std::invalid_argument for a VLAN past 4095, an address past 48 bits, a value of 0.
  bool insert(Station station, std::uint16_t value);
  bool remove(Station station);
  std::uint16_t find(Station station) const;  ///< kUnknown if it is not there
  void for_each(const std::function<void(Station station, std::uint16_t value)>& visit) const;
  void reserve(std::size_t stations) { cuckoo_.reserve(stations); }
  void commit() { cuckoo_.commit(); }

  std::size_t size() const { return cuckoo_.size(); }
  std::size_t slots() const { return cuckoo_.slots(); }
  std::size_t memory_bytes() const { return cuckoo_.memory_bytes(); }

  /// What engines read.
  Table& table() { return cuckoo_.table(); }

 private:
  std::uint64_t digest(Station station) const;

  CuckooTable cuckoo_;
};

}  // namespace penumbra
