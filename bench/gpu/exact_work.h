// SPDX-License-Identifier: Apache-2.0
//
// Exact match: keys that are all in a table, searched at random.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench.h"
#include "gpu/lookup_work.h"
#include "shaders/flows/flow_table.h"
#include "shaders/l2/stations.h"

namespace penumbra::bench::gpu {

constexpr std::size_t kExactSearches = std::size_t{1} << 22;

/// So many flows, one of four of IPv6.
class FlowsWork final : public LookupWorkOf<flow_key, std::uint32_t> {
 public:
  FlowsWork(std::size_t flows, std::uint64_t seed);
  Table& penumbra_table() override { return table_.table(); }

 private:
  NoReaders no_readers_;
  FlowTable table_;
};

/// So many stations of a switch.
class StationsWork final : public LookupWorkOf<std::uint64_t, std::uint16_t> {
 public:
  StationsWork(std::size_t stations, std::uint64_t seed);
  Table& penumbra_table() override { return table_.table(); }

 private:
  NoReaders no_readers_;
  StationTable table_;
};

}  // namespace penumbra::bench::gpu
