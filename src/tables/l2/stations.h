// SPDX-License-Identifier: Apache-2.0
//
// The owner of a switch's stations. The owner takes VLANs and MAC addresses with values, which the shader `l2_lookup`
// (l2.shader.h) finds. The table is a CuckooTable whose digests are permuted keys, so a lookup reads one or two cache
// lines.
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

  /// Returns the key for the shader.
  std::uint64_t key() const { return std::uint64_t{vlan} << 48 | mac.value; }
  auto operator<=>(const Station&) const = default;
};

/// Up to kMost stations with values (1 to 65535). One thread calls all functions. Lookups on any thread go through
/// table() and an engine. A change that throws leaves the content as it was.
class StationTable {
 public:
  static constexpr std::size_t kMost = std::size_t{64} << 20;
  static constexpr std::uint16_t kUnknown = 0;  ///< answer of a lookup for an absent station

  /// Makes and publishes an empty table. A secret seed prevents attackers from choosing addresses that collide in a
  /// bucket. `grace_periods` must outlive the table.
  StationTable(std::uint64_t seed, GracePeriods& grace_periods);

  /// The following functions are those of CuckooTable. All throw std::invalid_argument for a VLAN above 4095, an
  /// address of more than 48 bits, or a value of 0.
  bool insert(Station station, std::uint16_t value);
  bool remove(Station station);
  std::uint16_t find(Station station) const;  ///< kUnknown if the station is absent
  void for_each(const std::function<void(Station station, std::uint16_t value)>& visit) const;
  void reserve(std::size_t stations) { cuckoo_.reserve(stations); }
  void commit() { cuckoo_.commit(); }

  std::size_t size() const { return cuckoo_.size(); }
  std::size_t slots() const { return cuckoo_.slots(); }
  std::size_t memory_bytes() const { return cuckoo_.memory_bytes(); }

  /// Returns the table that engines read.
  Table& table() { return cuckoo_.table(); }

 private:
  std::uint64_t digest(Station station) const;

  CuckooTable cuckoo_;
};

}  // namespace penumbra
