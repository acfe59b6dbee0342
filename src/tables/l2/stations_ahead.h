// SPDX-License-Identifier: Apache-2.0
//
// Prefetches the cache line of a station that l2_lookup reads first, for functions whose engine uses prefetching.
#pragma once

#include <cstdint>

#include "penumbra/prefetch.h"
#include "penumbra/table.h"
#include "tables/l2/l2.shader.h"

namespace penumbra {

class StationsAhead {
 public:
  explicit StationsAhead(const Table& table) : view_(*static_cast<const cuckoo_table_view*>(table.view())) {}
  /// Prefetches the line; `key` is Station::key().
  void fetch(std::uint64_t key) const {
    const std::uint64_t place = l2_digest(view_.seed, key) & ((std::uint64_t{1} << view_.bits) - 1);
    prefetch_line(&view_.bucket[place]);
  }

 private:
  cuckoo_table_view view_;
};

}  // namespace penumbra
