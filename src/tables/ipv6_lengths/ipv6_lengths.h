// SPDX-License-Identifier: Apache-2.0
//
// The IPv6 table whose lookup structure is a hash table that a binary search on prefix lengths probes, by the shader
// `ipv6_lengths` (ipv6_lengths.shader.h).
//
// Why a lookup gives the old truth or the new. A search ends at the slot of the longest prefix that covers the address,
// or at a marker beyond it, and the markers that lead there stand as long as the prefix does; each slot holds the
// answer, written at once. Slots are filled before they are found and markers added from the longest to the shortest,
// so that a prefix is found at once or not yet; when it goes, the answers go first. Markers of other prefixes may come
// and go meanwhile, for they hold right answers while they stand. What a search must not meet is two changes over its
// address: so a change waits for a grace period after one before it that its prefix covers or lies in. A slot that is
// no longer needed serves only what it served before, until the table is rebuilt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tables/ipv6/ipv6_lookup.h"

namespace penumbra {

class Ipv6Lengths final : public Ipv6Lookup {
 public:
  /// An empty table, published. `grace_periods` outlives it.
  explicit Ipv6Lengths(GracePeriods& grace_periods);
  ~Ipv6Lengths() override;

  std::size_t slots() const;  ///< of the hash table, in use: of prefixes longer than 20 bits, and markers
  std::size_t lookup_bytes() const override;

 private:
  class Version;

  void put(Ipv6Prefix prefix, std::uint16_t next_hop, bool is_new) override;
  void take(Ipv6Prefix prefix, std::uint16_t next_hop) override;
  void rebuild() override;

  std::unique_ptr<Version> version_;
};

}  // namespace penumbra
