// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "penumbra/ipv6_address.h"

namespace penumbra::bench {

/// A filled table as a lookup benchmark sees it, Penumbra's on some engine or a rival's. Addresses are in host byte
/// order, as a shader's column has them.
template <class Address>
class LookupContenderOf {
 public:
  LookupContenderOf() = default;
  LookupContenderOf(const LookupContenderOf&) = delete;
  LookupContenderOf& operator=(const LookupContenderOf&) = delete;
  virtual ~LookupContenderOf() = default;

  virtual const std::string& name() const = 0;
  /// Makes of the addresses of the next calls, before time is taken, what the table wants of them.
  virtual void prepare(std::span<const Address> /*addresses*/) {}
  /// Looks all of them up in batches of `batch`, at most kMostBatch, and leaves a batch's answers in the table's own
  /// format in a buffer that the next batch overwrites, as a router does.
  virtual void pass(std::span<const Address> addresses, std::size_t batch) = 0;
  /// The same, and writes down each answer: a next hop or 0xFFFF.
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

/// Makes the compiler believe that `buffer` is read here, so that what was written to it is not optimised away.
inline void keep(const void* buffer) {
  asm volatile("" : : "g"(buffer) : "memory");
}

}  // namespace penumbra::bench
