// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "packet/fragment_siphash.h"
#include "penumbra/ip.h"

namespace penumbra {

/// Generates identifications of IPv6 fragments by a keyed hash and counters (RFC 7739, section 5.3). An observer of
/// some flows cannot predict the identifications of others. One worker owns each generator. The generators of all
/// workers share a key, and differ in `worker`, so that workers never use an identification of each other.
class FragmentIdentification {
 public:
  /// `workers` is the number of generators with this key, at least 1; `worker` is less.
  FragmentIdentification(const SipHashKey& key, std::uint16_t worker, std::uint16_t workers)
      : key_(key), worker_(worker), workers_(workers) {}

  /// Returns the identification of the next datagram from `source` to `destination`. A pair of addresses gets no value
  /// twice within 2^32 / `workers` datagrams.
  std::uint32_t next(const Ipv6Address& source, const Ipv6Address& destination) {
    const std::uint64_t hash =
        siphash<2, 4>(key_, std::array{source.high, source.low, destination.high, destination.low});
    std::uint32_t& counter = counters_[hash % kCounters];
    return static_cast<std::uint32_t>(hash >> 32) + counter++ * workers_ + worker_;
  }

 private:
  static constexpr std::size_t kCounters = 1024;  ///< Pairs of addresses share a counter if their hashes agree.

  SipHashKey key_;
  std::uint32_t worker_, workers_;
  std::array<std::uint32_t, kCounters> counters_{};
};

}  // namespace penumbra
