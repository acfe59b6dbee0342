// SPDX-License-Identifier: Apache-2.0
#include "gpu/exact_work.h"

#include <vector>

#include "base/random.h"
#include "numbered_flow.h"
#include "numbered_station.h"

namespace penumbra::bench::gpu {

FlowsWork::FlowsWork(std::size_t flows, std::uint64_t seed)
    : LookupWorkOf(kExactSearches), table_(flows, seed, no_readers_) {
  table_.reserve(flows);
  std::vector<std::uint32_t> records(flows);
  for (std::size_t i = 0; i < flows; ++i) {
    records[i] = table_.insert(numbered_flow(i), 0).record;
    if (records[i] == FlowTable::kNone) throw WrongAnswer("a flow found no place");
  }
  table_.commit();
  Random random(seed);
  for (std::size_t i = 0; i < kExactSearches; ++i) {
    const std::uint32_t number = random.below(static_cast<std::uint32_t>(flows));
    own_keys()[i] = numbered_flow(number);
    right[i] = records[number];
  }
}

StationsWork::StationsWork(std::size_t stations, std::uint64_t seed)
    : LookupWorkOf(kExactSearches), table_(seed, no_readers_) {
  const auto value_of = [](std::uint64_t number) { return static_cast<std::uint16_t>(1 + number % 0xFFFF); };
  table_.reserve(stations);
  for (std::uint64_t i = 0; i < stations; ++i) {
    if (!table_.insert(numbered_station(i), value_of(i))) throw WrongAnswer("two stations are the same");
  }
  table_.commit();
  Random random(seed);
  for (std::size_t i = 0; i < kExactSearches; ++i) {
    const std::uint64_t number = random.below(static_cast<std::uint32_t>(stations));
    own_keys()[i] = numbered_station(number).key();
    right[i] = value_of(number);
  }
}

}  // namespace penumbra::bench::gpu
