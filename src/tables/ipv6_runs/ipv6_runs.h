// SPDX-License-Identifier: Apache-2.0
//
// An IPv6 table for CPU cores and their caches, which the shader `ipv6_runs` (ipv6_runs.shader.h) reads.
//
// A change makes new lines for the addresses of its prefix and replaces the elements that lead to them. Each element
// decides the answers of whole addresses. The old lines are reused only after a grace period. Where the starts of runs
// stay the same, values change in place, which also decides the answers of whole addresses. Every lookup therefore
// returns the answer from before or after the change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tables/ipv6/ipv6_lookup.h"

namespace penumbra {

class Ipv6Runs final : public Ipv6Lookup {
 public:
  /// Makes and publishes an empty table. `grace_periods` must outlive the table.
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
