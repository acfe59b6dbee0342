// SPDX-License-Identifier: Apache-2.0
#include "gpu/exact_work.h"

#include <vector>

#include "numbered_flow.h"
#include "numbered_station.h"

namespace penumbra::bench::gpu {

FlowsWork::FlowsWork(std::size_t flows, std::uint64_t seed) : ExactWork(flows, seed) {
  owner().reserve(flows);
  std::vector<std::uint32_t> records(flows);
  for (std::size_t i = 0; i < flows; ++i) {
    records[i] = owner().insert(numbered_flow(i), 0).record;
    if (records[i] == FlowTable::kNone) throw WrongAnswer("a flow found no place");
  }
  owner().commit();
  draw(flows, seed, numbered_flow, [&records](std::uint32_t number) { return records[number]; });
}

StationsWork::StationsWork(std::size_t stations, std::uint64_t seed) : ExactWork(seed) {
  const auto value_of = [](std::uint64_t number) { return static_cast<std::uint16_t>(1 + number % 0xFFFF); };
  owner().reserve(stations);
  for (std::uint64_t i = 0; i < stations; ++i) {
    if (!owner().insert(numbered_station(i), value_of(i))) throw WrongAnswer("two stations are the same");
  }
  owner().commit();
  draw(stations, seed, [](std::uint32_t number) { return numbered_station(number).key(); }, value_of);
}

}  // namespace penumbra::bench::gpu
