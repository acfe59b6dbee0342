// SPDX-License-Identifier: Apache-2.0
//
// An IPv6 table with a hash table that the shader `ipv6_lengths` (ipv6_lengths.shader.h) probes by a binary search on
// prefix lengths.
//
// Every lookup returns the answer from before or after a change. A search ends at the slot of the longest prefix that
// covers the address, or at a marker beyond it. The markers that lead to a prefix stay as long as the prefix. Each slot
// holds its answer, which one store replaces. A slot is filled before it is linked, and markers are added from the
// longest to the shortest. A new prefix therefore appears at one moment. A removal changes the answers first. Markers
// of other prefixes may appear or disappear during a search, because their answers are right as long as they exist.
//
// A search must not meet two changes over its address. A change therefore waits for the grace period of an earlier
// change whose prefix covers, or lies in, its own prefix. An unused slot serves only its former bits until the table is
// rebuilt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tables/ipv6/ipv6_lookup.h"

namespace penumbra {

class Ipv6Lengths final : public Ipv6Lookup {
 public:
  /// Makes and publishes an empty table. `grace_periods` must outlive the table.
  explicit Ipv6Lengths(GracePeriods& grace_periods);
  ~Ipv6Lengths() override;

  std::size_t slots() const;  ///< slots in use: of prefixes longer than 20 bits, and markers
  std::size_t lookup_bytes() const override;

 private:
  class Version;

  void put(Ipv6Prefix prefix, std::uint16_t next_hop, bool is_new) override;
  void take(Ipv6Prefix prefix, std::uint16_t next_hop) override;
  void rebuild() override;

  std::unique_ptr<Version> version_;
};

}  // namespace penumbra
