// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lookup_contender.h"
#include "rivals/huge_heap.h"
#include "tables/ipv6/ipv6_prefixes.h"

struct rte_lpm6;
struct rte_fib6;

namespace penumbra::bench {

/// An address in network byte order, as in DPDK's tables.
using Ipv6Bytes = std::array<std::uint8_t, 16>;

/// A contender that takes addresses in packet format, which prepare() makes.
class Ipv6Rival : public Ipv6LookupContender {
 public:
  void prepare(std::span<const ipv6_address> addresses) override;

 protected:
  /// Returns addresses of the last prepare() in the form of DPDK's arguments.
  std::uint8_t (*bytes_at(std::size_t at))[16] { return reinterpret_cast<std::uint8_t(*)[16]>(bytes_[at].data()); }

 private:
  std::vector<Ipv6Bytes> bytes_;
};

/// DPDK's rte_lpm6: a trie of bytes below a root of 24 bits, looked up by rte_lpm6_lookup_bulk_func.
class RteLpm6 final : public Ipv6Rival {
 public:
  /// Builds the table. rte_lpm6 keeps its rules in DPDK's own memory, so `heap` and the EAL must outlive it. Throws
  /// std::runtime_error.
  RteLpm6(HugeHeap& heap, std::span<const Ipv6Entry> entries);
  ~RteLpm6() override;

  const std::string& name() const override { return name_; }
  void pass(std::span<const ipv6_address> addresses, std::size_t batch) override;
  void answers(std::span<const ipv6_address> addresses, std::size_t batch, std::uint16_t* next_hops) override;

 private:
  std::string name_ = "rte_lpm6 bulk";
  rte_lpm6* lpm_;
};

/// DPDK's rte_fib6 of type TRIE with 4-byte entries: 2-byte entries cannot address the groups of a full table.
class RteFib6 {
 public:
  /// Builds the table. Throws std::runtime_error.
  RteFib6(HugeHeap& heap, std::span<const Ipv6Entry> entries);
  ~RteFib6();
  RteFib6(const RteFib6&) = delete;
  RteFib6& operator=(const RteFib6&) = delete;

  rte_fib6* get() { return fib_; }

 private:
  rte_fib6* fib_;
};

/// A look-up function of an RteFib6.
class RteFib6Lookup final : public Ipv6Rival {
 public:
  enum class Kind { scalar, avx512 };
  /// True if this machine and DPDK support `kind`. For AVX-512 it raises the EAL's limit of vector width to 512 bits.
  static bool available(RteFib6& fib, Kind kind);

  RteFib6Lookup(RteFib6& fib, Kind kind);

  const std::string& name() const override { return name_; }
  void pass(std::span<const ipv6_address> addresses, std::size_t batch) override;
  void answers(std::span<const ipv6_address> addresses, std::size_t batch, std::uint16_t* next_hops) override;

 private:
  RteFib6& fib_;
  Kind kind_;
  std::string name_;
};

}  // namespace penumbra::bench
