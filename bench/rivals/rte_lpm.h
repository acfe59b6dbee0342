// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "lookup_contender.h"
#include "rivals/huge_heap.h"
#include "tables/dir24_8/dir24_8.h"

struct rte_lpm;

namespace penumbra::bench {

/// DPDK's rte_lpm: DIR-24-8 with 32-bit entries, looked up by rte_lpm_lookup_bulk. Next hops are below 2^24.
class RteLpm final : public LookupContender {
 public:
  /// Makes an empty table for `prefixes` prefixes and `groups` second-level groups. Throws std::runtime_error.
  RteLpm(HugeHeap& heap, std::uint32_t prefixes, std::uint32_t groups);
  ~RteLpm() override;

  /// Call rte_lpm_add and rte_lpm_delete, which search the rules of the prefix's length linearly.
  void insert(Ipv4Prefix prefix, std::uint16_t next_hop);
  void remove(Ipv4Prefix prefix);

  /// Writes the lookup tables as rte_lpm_add would leave them, but without its rules. rte_lpm_add would take minutes
  /// for 900,000 rules, which a look-up does not read. Entries must be sorted, shorter prefixes first. Do not call
  /// insert() or remove() afterwards.
  void fill(std::span<const Dir24_8::Entry> shorter_first);

  const std::string& name() const override { return name_; }
  void pass(std::span<const std::uint32_t> addresses, std::size_t batch) override;
  void answers(std::span<const std::uint32_t> addresses, std::size_t batch, std::uint16_t* next_hops) override;

 private:
  std::string name_ = "rte_lpm bulk";
  std::uint32_t groups_;
  rte_lpm* lpm_;
};

}  // namespace penumbra::bench
