// SPDX-License-Identifier: Apache-2.0
#include "rivals/rte_ipv6.h"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_fib6.h>
#include <rte_lpm6.h>

#include <stdexcept>

#include "rivals/vector_width.h"
#include "tables/ipv6/ipv6_lookup.h"

namespace penumbra::bench {
namespace {

constexpr std::uint32_t kMostGroups = 1U << 19;
constexpr std::uint64_t kNothing6 = 0xFFFF;

Ipv6Bytes bytes_of(std::uint64_t high, std::uint64_t low) {
  Ipv6Bytes bytes;
  for (unsigned i = 0; i < 8; ++i) {
    bytes[i] = high >> (56 - 8 * i) & 0xFF;
    bytes[8 + i] = low >> (56 - 8 * i) & 0xFF;
  }
  return bytes;
}

bool select6(RteFib6& fib, RteFib6Lookup::Kind kind) {
  const bool wide = kind == RteFib6Lookup::Kind::avx512;
  if (wide) allow_wide_vectors();
  return rte_fib6_select_lookup(fib.get(), wide ? RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512 : RTE_FIB6_LOOKUP_TRIE_SCALAR) ==
         0;
}

}  // namespace

void Ipv6Rival::prepare(std::span<const ipv6_address> addresses) {
  bytes_.clear();
  bytes_.reserve(addresses.size());
  for (const ipv6_address address : addresses) bytes_.push_back(bytes_of(address.high, address.low));
}

RteLpm6::RteLpm6(HugeHeap& heap, std::span<const Ipv6Entry> entries) {
  rte_lpm6_config config{};
  config.max_rules = static_cast<std::uint32_t>(entries.size());
  config.number_tbl8s = kMostGroups;
  lpm_ = rte_lpm6_create("lpm6", heap.socket(), &config);
  if (lpm_ == nullptr) throw std::runtime_error(fmt::format("rte_lpm6_create: {}", rte_strerror(rte_errno)));
  for (const auto& [prefix, next_hop] : entries) {
    const Ipv6Bytes bytes = bytes_of(prefix.address.high, prefix.address.low);
    const int result = rte_lpm6_add(lpm_, bytes.data(), prefix.length, next_hop);
    if (result != 0) throw std::runtime_error(fmt::format("rte_lpm6_add: {}", rte_strerror(-result)));
  }
}

RteLpm6::~RteLpm6() {
  rte_lpm6_free(lpm_);
}

void RteLpm6::pass(std::span<const ipv6_address> addresses, std::size_t batch) {
  std::array<std::int32_t, kMostBatch> found;
  for_each_batch(addresses.size(), batch, [&](std::size_t at, std::size_t count) {
    rte_lpm6_lookup_bulk_func(lpm_, bytes_at(at), found.data(), static_cast<unsigned>(count));
    keep(found.data());
  });
}

void RteLpm6::answers(std::span<const ipv6_address> addresses, std::size_t batch, std::uint16_t* next_hops) {
  std::array<std::int32_t, kMostBatch> found;
  for_each_batch(addresses.size(), batch, [&](std::size_t at, std::size_t count) {
    rte_lpm6_lookup_bulk_func(lpm_, bytes_at(at), found.data(), static_cast<unsigned>(count));
    for (std::size_t i = 0; i < count; ++i) next_hops[at + i] = static_cast<std::uint16_t>(found[i]);  // -1: no route.
  });
}

RteFib6::RteFib6(HugeHeap& heap, std::span<const Ipv6Entry> entries) {
  rte_fib6_conf config{};
  config.type = RTE_FIB6_TRIE;
  config.default_nh = kNothing6;
  config.max_routes = static_cast<int>(entries.size()) * 2;  // rte_fib6's trie has inner nodes too.
  config.trie.nh_sz = RTE_FIB6_TRIE_4B;
  config.trie.num_tbl8 = kMostGroups;
  fib_ = rte_fib6_create("fib6", heap.socket(), &config);
  if (fib_ == nullptr) throw std::runtime_error(fmt::format("rte_fib6_create: {}", rte_strerror(rte_errno)));
  for (const auto& [prefix, next_hop] : entries) {
    const Ipv6Bytes bytes = bytes_of(prefix.address.high, prefix.address.low);
    const int result = rte_fib6_add(fib_, bytes.data(), prefix.length, next_hop);
    if (result != 0) throw std::runtime_error(fmt::format("rte_fib6_add: {}", rte_strerror(-result)));
  }
}

RteFib6::~RteFib6() {
  rte_fib6_free(fib_);
}

bool RteFib6Lookup::available(RteFib6& fib, Kind kind) {
  return select6(fib, kind);
}

RteFib6Lookup::RteFib6Lookup(RteFib6& fib, Kind kind)
    : fib_(fib), kind_(kind), name_(kind == Kind::avx512 ? "rte_fib6 AVX-512" : "rte_fib6 scalar") {}

void RteFib6Lookup::pass(std::span<const ipv6_address> addresses, std::size_t batch) {
  select6(fib_, kind_);
  std::array<std::uint64_t, kMostBatch> found;
  for_each_batch(addresses.size(), batch, [&](std::size_t at, std::size_t count) {
    rte_fib6_lookup_bulk(fib_.get(), bytes_at(at), found.data(), static_cast<int>(count));
    keep(found.data());
  });
}

void RteFib6Lookup::answers(std::span<const ipv6_address> addresses, std::size_t batch, std::uint16_t* next_hops) {
  select6(fib_, kind_);
  std::array<std::uint64_t, kMostBatch> found;
  for_each_batch(addresses.size(), batch, [&](std::size_t at, std::size_t count) {
    rte_fib6_lookup_bulk(fib_.get(), bytes_at(at), found.data(), static_cast<int>(count));
    for (std::size_t i = 0; i < count; ++i) next_hops[at + i] = static_cast<std::uint16_t>(found[i]);
  });
}

}  // namespace penumbra::bench
