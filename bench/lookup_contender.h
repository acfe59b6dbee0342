// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "penumbra/ipv6_address.h"

namespace penumbra::bench {

/// A filled table in a lookup benchmark: Penumbra's on some engine, or a rival's. Addresses are in host byte order, as
/// in a shader's column.
template <class Address>
class LookupContenderOf {
 public:
  LookupContenderOf() = default;
  LookupContenderOf(const LookupContenderOf&) = delete;
  LookupContenderOf& operator=(const LookupContenderOf&) = delete;
  virtual ~LookupContenderOf() = default;

  virtual const std::string& name() const = 0;
  /// Converts the addresses of later calls to the table's format, outside the measured time.
  virtual void prepare(std::span<const Address> /*addresses*/) {}
  /// Looks up all addresses in batches of `batch`, at most kMostBatch. As in a router, a batch's answers stay in the
  /// table's own format, in a buffer that the next batch overwrites.
  virtual void pass(std::span<const Address> addresses, std::size_t batch) = 0;
  /// Looks up all addresses, and writes each answer: a next hop or 0xFFFF.
  virtual void answers(std::span<const Address> addresses, std::size_t batch, std::uint16_t* next_hops) = 0;

  static constexpr std::size_t kMostBatch = 4096;
};
using LookupContender = LookupContenderOf<std::uint32_t>;
using Ipv6LookupContender = LookupContenderOf<ipv6_address>;

/// Calls `body(offset, count)` for each batch.
template <class Body>
void for_each_batch(std::size_t items, std::size_t batch, Body body) {
  for (std::size_t at = 0; at < items; at += batch) body(at, items - at < batch ? items - at : batch);
}

/// Makes the compiler assume that `buffer` is read here, so that writes to it are not optimized away.
inline void keep(const void* buffer) {
  asm volatile("" : : "g"(buffer) : "memory");
}

}  // namespace penumbra::bench
