// SPDX-License-Identifier: Apache-2.0
#include "runtime/packet_memory.h"

#include <rte_mempool.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace penumbra::runtime {

void PacketMemory::use(Engine& engine) {
  if (std::ranges::find(engines_, &engine) == engines_.end()) engines_.push_back(&engine);
}

PacketMemory::Ranges PacketMemory::register_new() {
  Ranges added;
  if (!is_used()) return added;
  for (auto& [pool, ranges] : io::memory_of_pools()) {
    if (std::ranges::find(entries_, pool, &Entry::pool) != entries_.end()) continue;
    Entry entry{.pool = std::move(pool), .ranges = std::move(ranges), .registrations = {}};
    for (const auto& range : entry.ranges) {
      for (Engine* const engine : engines_) entry.registrations.push_back(engine->register_memory(range));
    }
    std::ranges::copy(entry.ranges, std::back_inserter(added));
    entries_.push_back(std::move(entry));
  }
  return added;
}

PacketMemory::Ranges PacketMemory::unused() const {
  Ranges found;
  for (const Entry& entry : entries_) {
    const bool is_unused =
        entry.pool.use_count() == uses_of(entry.pool.get()) && rte_mempool_full(entry.pool.get()) == 1;
    if (is_unused) std::ranges::copy(entry.ranges, std::back_inserter(found));
  }
  return found;
}

void PacketMemory::unregister(const Ranges& ranges) {
  std::erase_if(entries_, [&ranges](const Entry& entry) {
    return !entry.ranges.empty() && std::ranges::find(ranges, entry.ranges.front()) != ranges.end();
  });
}

PacketMemory::Ranges PacketMemory::all() const {
  Ranges found;
  for (const Entry& entry : entries_) std::ranges::copy(entry.ranges, std::back_inserter(found));
  return found;
}

long PacketMemory::uses_of(const void* pool) const {
  const auto entry = std::ranges::find_if(entries_, [pool](const Entry& each) { return each.pool.get() == pool; });
  return entry == entries_.end() ? 0 : 1 + static_cast<long>(entry->ranges.size());  // Each range keeps the pool, too.
}

}  // namespace penumbra::runtime
