// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "lookup_contender.h"
#include "rivals/huge_heap.h"
#include "tables/dir24_8/dir24_8.h"

struct rte_fib;

namespace penumbra::bench {

/// DPDK's rte_fib of type DIR24_8 with 2-byte entries: like Penumbra's table it holds next hops below 2^15 and 2^15
/// groups.
class RteFib {
 public:
  static constexpr std::uint16_t kMostNextHop = 0x7FFE;  ///< The value above it means no route.
  static constexpr std::uint32_t kMostGroups = 0x7FFF;

  RteFib(HugeHeap& heap, std::uint32_t prefixes, std::uint32_t groups);
  ~RteFib();
  RteFib(const RteFib&) = delete;
  RteFib& operator=(const RteFib&) = delete;

  /// Call rte_fib_add, which also replaces, and rte_fib_delete. Throw std::runtime_error.
  void insert(Ipv4Prefix prefix, std::uint16_t next_hop);
  void remove(Ipv4Prefix prefix);

  rte_fib* get() { return fib_; }

 private:
  rte_fib* fib_;
};

/// A look-up function of an RteFib.
class RteFibLookup final : public LookupContender {
 public:
  enum class Kind { scalar, avx512 };
  /// True if this machine and DPDK support `kind`. For AVX-512 it raises the EAL's limit of vector width to 512 bits.
  static bool available(RteFib& fib, Kind kind);

  RteFibLookup(RteFib& fib, Kind kind);

  const std::string& name() const override { return name_; }
  void pass(std::span<const std::uint32_t> addresses, std::size_t batch) override;
  void answers(std::span<const std::uint32_t> addresses, std::size_t batch, std::uint16_t* next_hops) override;

 private:
  RteFib& fib_;
  Kind kind_;
  std::string name_;
};

}  // namespace penumbra::bench
