// SPDX-License-Identifier: Apache-2.0
#include "rivals/rte_lpm.h"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_lpm.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace penumbra::bench {
namespace {

rte_lpm_tbl_entry leaf(std::uint16_t next_hop, std::uint8_t depth) {
  rte_lpm_tbl_entry entry{};
  entry.next_hop = next_hop;
  entry.valid = 1;
  entry.depth = depth & 0x3F;
  return entry;
}

void require_lpm(bool done, const char* step) {
  if (!done) throw std::runtime_error(fmt::format("rte_lpm: {}: {}", step, rte_strerror(rte_errno)));
}

}  // namespace

RteLpm::RteLpm(HugeHeap& heap, std::uint32_t prefixes, std::uint32_t groups) : groups_(groups) {
  rte_lpm_config config{};
  config.max_rules = prefixes;
  config.number_tbl8s = groups;
  lpm_ = rte_lpm_create(fmt::format("lpm{}", static_cast<const void*>(this)).c_str(), heap.socket(), &config);
  require_lpm(lpm_ != nullptr, "create");
}

RteLpm::~RteLpm() {
  rte_lpm_free(lpm_);
}

void RteLpm::insert(Ipv4Prefix prefix, std::uint16_t next_hop) {
  const int result = rte_lpm_add(lpm_, prefix.address.value, prefix.length, next_hop);
  if (result != 0) throw std::runtime_error(fmt::format("rte_lpm_add: {}", rte_strerror(-result)));
}

void RteLpm::remove(Ipv4Prefix prefix) {
  const int result = rte_lpm_delete(lpm_, prefix.address.value, prefix.length);
  if (result != 0) throw std::runtime_error(fmt::format("rte_lpm_delete: {}", rte_strerror(-result)));
}

void RteLpm::fill(std::span<const Dir24_8::Entry> shorter_first) {
  const auto group_at = [this](std::size_t group) { return lpm_->tbl8 + group * RTE_LPM_TBL8_GROUP_NUM_ENTRIES; };
  std::uint32_t used = 0;
  for (const auto& [prefix, next_hop] : shorter_first) {
    const rte_lpm_tbl_entry entry = leaf(next_hop, prefix.length);
    rte_lpm_tbl_entry* first = lpm_->tbl24 + (prefix.address.value >> 8);
    if (prefix.length <= 24) {
      std::fill_n(first, std::size_t{1} << (24 - prefix.length), entry);
      continue;
    }
    if (first->valid_group == 0) {
      if (used == groups_) throw std::length_error("rte_lpm: more groups are needed");
      std::fill_n(group_at(used), RTE_LPM_TBL8_GROUP_NUM_ENTRIES, *first);
      first->next_hop = used & 0xFFFFFF;
      first->valid = 1;
      first->valid_group = 1;
      first->depth = 0;
      ++used;
    }
    rte_lpm_tbl_entry* group = group_at(first->next_hop);
    std::fill_n(group + (prefix.address.value & 0xFF), std::size_t{1} << (32 - prefix.length), entry);
  }
}

void RteLpm::pass(std::span<const std::uint32_t> addresses, std::size_t batch) {
  std::array<std::uint32_t, kMostBatch> found;
  for_each_batch(addresses.size(), batch, [&](std::size_t at, std::size_t count) {
    rte_lpm_lookup_bulk(lpm_, addresses.data() + at, found.data(), static_cast<unsigned>(count));
    keep(found.data());
  });
}

void RteLpm::answers(std::span<const std::uint32_t> addresses, std::size_t batch, std::uint16_t* next_hops) {
  std::array<std::uint32_t, kMostBatch> found;
  for_each_batch(addresses.size(), batch, [&](std::size_t at, std::size_t count) {
    rte_lpm_lookup_bulk(lpm_, addresses.data() + at, found.data(), static_cast<unsigned>(count));
    for (std::size_t i = 0; i < count; ++i) {
      const bool valid = (found[i] & RTE_LPM_LOOKUP_SUCCESS) != 0;
      next_hops[at + i] = valid ? static_cast<std::uint16_t>(found[i]) : Dir24_8::kNoRoute;
    }
  });
}

}  // namespace penumbra::bench
