// SPDX-License-Identifier: Apache-2.0
#include "rivals/rte_fib.h"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_fib.h>

#include <array>
#include <stdexcept>

#include "rivals/vector_width.h"

namespace penumbra::bench {
namespace {

constexpr std::uint64_t kNothing = RteFib::kMostNextHop + 1;

bool select(RteFib& fib, RteFibLookup::Kind kind) {
  const bool wide = kind == RteFibLookup::Kind::avx512;
  if (wide) allow_wide_vectors();
  return rte_fib_select_lookup(fib.get(),
                               wide ? RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512 : RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO) == 0;
}

/// rte_fib_lookup_bulk takes non-const addresses, but only reads them.
void look_up(RteFib& fib, std::span<const std::uint32_t> addresses, std::uint64_t* found) {
  rte_fib_lookup_bulk(fib.get(), const_cast<std::uint32_t*>(addresses.data()), found,
                      static_cast<int>(addresses.size()));
}

}  // namespace

RteFib::RteFib(HugeHeap& heap, std::uint32_t prefixes, std::uint32_t groups) {
  rte_fib_conf config{};
  config.type = RTE_FIB_DIR24_8;
  config.default_nh = kNothing;
  config.max_routes = static_cast<int>(prefixes) * 2;  // rte_fib's trie has inner nodes too.
  config.dir24_8.nh_sz = RTE_FIB_DIR24_8_2B;
  config.dir24_8.num_tbl8 = groups;
  fib_ = rte_fib_create(fmt::format("fib{}", static_cast<const void*>(this)).c_str(), heap.socket(), &config);
  if (fib_ == nullptr) throw std::runtime_error(fmt::format("rte_fib_create: {}", rte_strerror(rte_errno)));
}

RteFib::~RteFib() {
  rte_fib_free(fib_);
}

void RteFib::insert(Ipv4Prefix prefix, std::uint16_t next_hop) {
  const int result = rte_fib_add(fib_, prefix.address.value, prefix.length, next_hop);
  if (result != 0) throw std::runtime_error(fmt::format("rte_fib_add: {}", rte_strerror(-result)));
}

void RteFib::remove(Ipv4Prefix prefix) {
  const int result = rte_fib_delete(fib_, prefix.address.value, prefix.length);
  if (result != 0) throw std::runtime_error(fmt::format("rte_fib_delete: {}", rte_strerror(-result)));
}

bool RteFibLookup::available(RteFib& fib, Kind kind) {
  return select(fib, kind);
}

RteFibLookup::RteFibLookup(RteFib& fib, Kind kind)
    : fib_(fib), kind_(kind), name_(kind == Kind::avx512 ? "rte_fib AVX-512" : "rte_fib scalar") {}

void RteFibLookup::pass(std::span<const std::uint32_t> addresses, std::size_t batch) {
  select(fib_, kind_);
  std::array<std::uint64_t, kMostBatch> found;
  for_each_batch(addresses.size(), batch, [&](std::size_t at, std::size_t count) {
    look_up(fib_, addresses.subspan(at, count), found.data());
    keep(found.data());
  });
}

void RteFibLookup::answers(std::span<const std::uint32_t> addresses, std::size_t batch, std::uint16_t* next_hops) {
  select(fib_, kind_);
  std::array<std::uint64_t, kMostBatch> found;
  for_each_batch(addresses.size(), batch, [&](std::size_t at, std::size_t count) {
    look_up(fib_, addresses.subspan(at, count), found.data());
    for (std::size_t i = 0; i < count; ++i) {
      next_hops[at + i] = found[i] == kNothing ? Dir24_8::kNoRoute : static_cast<std::uint16_t>(found[i]);
    }
  });
}

}  // namespace penumbra::bench
