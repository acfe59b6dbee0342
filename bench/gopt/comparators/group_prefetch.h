// SPDX-License-Identifier: Apache-2.0
//
// Group prefetching (Chen, Ailamaki, Gibbons, Mowry: Improving Hash Join Performance through Prefetching, ICDE 2004),
// written from the paper. A group of look-ups passes the stages together, and each stage prefetches the data of the
// next. Look-ups that need no further stage leave the group.
#pragma once

#include <cstdint>
#include <vector>

#include "gopt/kernels/chase.shader.h"
#include "gopt/kernels/cuckoo.shader.h"
#include "gopt/kernels/trie6.shader.h"
#include "gopt/workload.h"
#include "penumbra/prefetch.h"
#include "tables/dir24_8/dir24_8.shader.h"

namespace penumbra::bench {

/// Group sizes that are tried.
#define PENUMBRA_BENCH_GROUPS 8, 16, 24, 32, 48, 64, 96, 128, 192, 256
inline const std::vector<std::uint32_t> kGroups{PENUMBRA_BENCH_GROUPS};

/// Runs `n` items. A kernel has group<Group>(first, count), which runs `count` items from `first` on, at most Group.
/// Full groups pass a constant, so that the compiler can unroll the loops.
template <std::uint32_t Group, class Kernel>
[[gnu::noinline]] void group_prefetch(Kernel kernel, std::uint32_t n) {
  std::uint32_t first = 0;
  for (; n - first >= Group; first += Group) kernel.template group<Group>(first, Group);
  kernel.template group<Group>(first, n - first);
}

/// Makes a way from `make(first)`, which makes the kernel of the items from `first` on.
template <class Make>
Way by_group_prefetching(Make make) {
  return {"group prefetching", kGroups, [make](std::uint32_t first, std::uint32_t n, std::uint32_t size) {
            const auto kernel = make(first);
            with_size<PENUMBRA_BENCH_GROUPS>(size, [&]<std::uint32_t Group> { group_prefetch<Group>(kernel, n); });
          }};
}

/// Requires chains of at least one step.
struct ChaseGroups {
  template <std::uint32_t Group>
  [[gnu::always_inline]] void group(std::uint32_t first, std::uint32_t count) const {
    std::uint32_t at[Group];
    for (std::uint32_t j = 0; j < count; ++j) {
      at[j] = begin[first + j];
      prefetch_line(&view.line[at[j]]);
    }
    for (std::uint32_t step = 1; step < view.steps; ++step) {
      for (std::uint32_t j = 0; j < count; ++j) {
        at[j] = view.line[at[j]].next;
        prefetch_line(&view.line[at[j]]);
      }
    }
    for (std::uint32_t j = 0; j < count; ++j) end[first + j] = view.line[at[j]].next;
  }

  chase_view view;
  const std::uint32_t* begin;
  std::uint32_t* end;
};

struct CuckooGroups {
  template <std::uint32_t Group>
  [[gnu::always_inline]] void group(std::uint32_t first, std::uint32_t count) const {
    std::uint32_t hash[Group], left[Group], lefts = 0;
    for (std::uint32_t j = 0; j < count; ++j) {
      hash[j] = cuckoo_hash(key[first + j]);
      prefetch_line(&view.bucket[cuckoo_first(view, hash[j])]);
    }
    for (std::uint32_t j = 0; j < count; ++j) {
      const std::uint32_t found = cuckoo_search(&view.bucket[cuckoo_first(view, hash[j])], key[first + j]);
      value[first + j] = found;
      if (found == CUCKOO_NOT_FOUND) {
        prefetch_line(&view.bucket[cuckoo_second(view, hash[j])]);
        left[lefts++] = j;
      }
    }
    for (std::uint32_t l = 0; l < lefts; ++l) {
      const std::uint32_t j = left[l];
      value[first + j] = cuckoo_search(&view.bucket[cuckoo_second(view, hash[j])], key[first + j]);
    }
  }

  cuckoo_view view;
  const std::uint32_t* key;
  std::uint32_t* value;
};

struct Trie6Groups {
  template <std::uint32_t Group>
  [[gnu::always_inline]] void group(std::uint32_t first, std::uint32_t count) const {
    const std::uint32_t* slot[Group];
    std::uint32_t left[Group], lefts = count;
    for (std::uint32_t j = 0; j < count; ++j) {
      slot[j] = &view.root[trie6_root_index(view, &address[first + j])];
      prefetch_line(slot[j]);
      left[j] = j;
    }
    for (std::uint32_t byte = view.root_bytes; lefts > 0; ++byte) {
      std::uint32_t kept = 0;
      for (std::uint32_t l = 0; l < lefts; ++l) {
        const std::uint32_t j = left[l];
        const std::uint32_t entry = *slot[j];
        if (entry >= TRIE6_NODE) {
          slot[j] = trie6_slot(view, entry, address[first + j].byte[byte]);
          prefetch_line(slot[j]);
          left[kept++] = j;
        } else {
          next_hop[first + j] = entry;
        }
      }
      lefts = kept;
    }
  }

  trie6_view view;
  const trie6_address* address;
  std::uint32_t* next_hop;
};

struct Ipv4Groups {
  template <std::uint32_t Group>
  [[gnu::always_inline]] void group(std::uint32_t first, std::uint32_t count) const {
    const std::uint16_t* slot[Group];
    std::uint32_t left[Group], lefts = 0;
    for (std::uint32_t j = 0; j < count; ++j) prefetch_line(&view.tbl24[address[first + j] >> 8]);
    for (std::uint32_t j = 0; j < count; ++j) {
      const std::uint32_t at = address[first + j];
      const std::uint16_t entry = view.tbl24[at >> 8];
      next_hop[first + j] = entry;
      if (entry >= DIR24_8_NEXT_HOPS && entry != DIR24_8_NO_ROUTE) {
        const auto group = static_cast<std::uint32_t>(entry - DIR24_8_NEXT_HOPS);
        slot[lefts] = &view.tbl8[group * DIR24_8_GROUP_ENTRIES + (at & 0xFF)];
        prefetch_line(slot[lefts]);
        left[lefts++] = j;
      }
    }
    for (std::uint32_t l = 0; l < lefts; ++l) next_hop[first + left[l]] = *slot[l];
  }

  dir24_8_view view;
  const std::uint32_t* address;
  std::uint16_t* next_hop;
};

}  // namespace penumbra::bench
