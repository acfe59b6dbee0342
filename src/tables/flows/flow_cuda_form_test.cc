// SPDX-License-Identifier: Apache-2.0
//
// The CUDA form of flow lookups, run on host threads and compared with the shader.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tables/cuda_on_cpu.h"
#include "tables/flows/flow_table.h"
#include "tables/flows/flow_testing.h"
#include "tables/flows/flows.cuda.h"

namespace penumbra {
namespace {

TEST(FlowsForCuda, FindWhatTheOneSourceFinds) {
  constexpr std::uint64_t kSeed = 5;
  constexpr std::size_t kFlows = 2000;
  constexpr std::uint32_t kUntouched = 0xDEADBEEF;
  NoReaders no_readers;
  FlowTable table(kFlows, kSeed, no_readers);
  Random random(1);
  std::vector<flow_key> keys;
  for (std::size_t i = 0; i < kFlows; ++i) {
    keys.push_back(any_flow(random));
    ASSERT_EQ(table.insert(keys.back(), 7).what, FlowTable::Inserted::fresh);
    keys.push_back(any_flow(random));
  }
  const auto& view = *static_cast<const flows_view*>(table.table().view());
  for (const std::uint32_t count : {0U, 1U, 63U, 64U, 65U, static_cast<std::uint32_t>(keys.size())}) {
    std::vector<std::uint32_t> right(count), found(count + 1, kUntouched);
    flows_lookup(view, keys.data(), right.data(), count);
    cuda_on_cpu::launch(2, 32, [&] { flows::lookup_in_one_loop(view, keys.data(), found.data(), count); });
    EXPECT_EQ(found.back(), kUntouched);
    found.pop_back();
    EXPECT_EQ(found, right) << count;
    const auto hits = std::ranges::count_if(found, [](std::uint32_t record) { return record != FLOWS_NO_RECORD; });
    EXPECT_EQ(hits, (count + 1) / 2) << count;
  }
}

/// A lookup compares the key of the record, not only the digest.
TEST(FlowsForCuda, TakeNoFlowForAnotherOfTheSameDigest) {
  NoReaders no_readers;
  FlowTable table(2, 5, no_readers);
  Random random(1);
  const flow_key key = any_flow(random);
  const std::uint32_t number = table.insert(key, 7).record;
  const auto& view = *static_cast<const flows_view*>(table.table().view());
  std::vector<flow_record> records(view.record, view.record + number + 1);
  flows_view of_others = view;
  of_others.record = records.data();
  const auto ask = [&] {
    std::uint32_t found = 0;
    cuda_on_cpu::launch(1, 32, [&] { flows::lookup_in_one_loop(of_others, &key, &found, 1); });
    return found;
  };
  EXPECT_EQ(ask(), number);
  records[number].key.source[0] ^= 1;
  EXPECT_EQ(ask(), std::uint32_t{FLOWS_NO_RECORD});
}

}  // namespace
}  // namespace penumbra
