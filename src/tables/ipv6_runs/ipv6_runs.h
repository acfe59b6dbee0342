// SPDX-License-Identifier: Apache-2.0
//
// The IPv6 table whose lookup structure is made for cores and their caches, by the shader `ipv6_runs`
// (ipv6_runs.shader.h).
//
// A change makes new lines for what a prefix covers and exchanges the elements that lead to them, each of which decides
// the answers of whole addresses; the old lines' place is filled anew only after a grace period. Where runs start as
// before, values change in their place, which decides the answers of whole addresses too. So every lookup gives the
// answer from before the change or from after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tables/ipv6/ipv6_lookup.h"

namespace penumbra {

class Ipv6Runs final : public Ipv6Lookup {
 public:
  /// An empty table, published. `grace_periods` outlives it.
  explicit Ipv6Runs(GracePeriods& grace_periods);
  ~Ipv6Runs() override;

  std::size_t lookup_bytes() const override;

 private:
  class Version;

  void put(Ipv6Prefix prefix, std::uint16_t next_hop, bool is_new) override;
  void take(Ipv6Prefix prefix, std::uint16_t next_hop) override;
  void rebuild() override;
  void follow(Ipv6Prefix changed, bool was_there, bool is_there);

  std::unique_ptr<Version> version_;
};

}  // namespace penumbra
