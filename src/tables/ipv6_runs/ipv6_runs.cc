// SPDX-License-Identifier: Apache-2.0
#include "tables/ipv6_runs/ipv6_runs.h"

#include <stdexcept>
#include <utility>

#include "tables/ipv6_runs/run_table.h"

namespace penumbra {

Ipv6Runs::Ipv6Runs(GracePeriods& grace_periods)
    : Ipv6Lookup(grace_periods, "ipv6_runs"), version_(std::make_unique<Version>(grace_periods, prefixes())) {
  version_->publish_to(table());
}

Ipv6Runs::~Ipv6Runs() = default;

void Ipv6Runs::put(Ipv6Prefix prefix, std::uint16_t /*next_hop*/, bool is_new) {
  follow(prefix, !is_new, true);
}

void Ipv6Runs::take(Ipv6Prefix prefix, std::uint16_t /*next_hop*/) {
  follow(prefix, true, false);
}

void Ipv6Runs::follow(Ipv6Prefix changed, bool was_there, bool is_there) {
  try {
    version_->follow(changed, was_there, is_there);
    // The blocks are exhausted; a rebuilt version has no fragmentation.
  } catch (const std::length_error&) {
    rebuild();
  }
}

void Ipv6Runs::rebuild() {
  auto next = std::make_unique<Version>(grace_periods(), prefixes());
  next->publish_to(table());
  const std::unique_ptr<Version> old = std::exchange(version_, std::move(next));
  grace_periods().elapsed(grace_periods().start(), true);
}

std::size_t Ipv6Runs::lookup_bytes() const {
  return version_->bytes();
}

}  // namespace penumbra
