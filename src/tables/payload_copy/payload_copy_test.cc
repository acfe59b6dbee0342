// SPDX-License-Identifier: Apache-2.0
//
// Tests payload on every engine: the smallest shader with a source and a destination against a plain copy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engines/conformance.h"
#include "penumbra/huge_memory.h"
#include "tables/payload_copy/payload_testing.h"

namespace penumbra {
namespace {

using payload_testing::expect_copies;
using payload_testing::Items;
using payload_testing::kSourceBytes;
using payload_testing::Masks;
using payload_testing::Payload;
using payload_testing::run;

class PayloadShader : public testing::TestWithParam<std::string> {};

TEST_P(PayloadShader, CopiesItemsOfAnyLengthWhereverTheyLie) {
  Masks masks;
  for (const std::uint32_t most_bytes : {0U, 40U, 300U, 9000U}) {
    Items items(most_bytes > 1000 ? 300 : 1000, most_bytes);
    const Payload payload(items.destination_bytes);
    for (const bool is_shared : {false, true}) {
      conformance::ShaderRun shader_run(GetParam(), "payload_copy", masks.table);
      const auto queue = shader_run.open_queue();
      if (is_shared) {
        queue->share(payload.source);
        queue->share(payload.destination);
      }
      for (const std::uint32_t batch_items : conformance::kBatchSizes) {
        payload.clear();
        run(*queue, items, {payload.source->data(), payload.destination->data()}, batch_items);
        ASSERT_NO_FATAL_FAILURE(expect_copies(items, payload, masks.mask)) << most_bytes << " " << batch_items;
      }
    }
  }
}

TEST_P(PayloadShader, TakesOneSharedSideAndABaseOutsideTheMemory) {
  Masks masks;
  Items items(200, 500);
  const Payload payload(items.destination_bytes);
  Items moved = items;
  for (auto& each : moved.source) each += position_of(payload.source->data(), payload_base());
  for (auto& each : moved.destination) each += position_of(payload.destination->data(), payload_base());
  for (const bool shares_source : {false, true}) {
    conformance::ShaderRun shader_run(GetParam(), "payload_copy", masks.table);
    const auto queue = shader_run.open_queue();
    queue->share(shares_source ? payload.source : payload.destination);
    payload.clear();
    run(*queue, moved, {payload_base(), payload_base()}, 64);
    items.length_out = moved.length_out;
    ASSERT_NO_FATAL_FAILURE(expect_copies(items, payload, masks.mask));
  }
}

TEST_P(PayloadShader, ReachesItemsBeyondFourGibibytes) {
  constexpr std::size_t kFar = std::size_t{5} << 30;
  Masks masks;
  Items items(64, 1500);
  const Payload payload(items.destination_bytes);
  const HugeMemory far(kFar + kSourceBytes);  // Only its last pages are touched.
  std::copy_n(payload.source->data(), kSourceBytes, far.data() + kFar);
  Items shifted = items;
  for (auto& position : shifted.source) position += kFar;
  conformance::ShaderRun shader_run(GetParam(), "payload_copy", masks.table);
  const auto queue = shader_run.open_queue();
  run(*queue, shifted, {far.data(), payload.destination->data()}, 64);
  items.length_out = shifted.length_out;
  ASSERT_NO_FATAL_FAILURE(expect_copies(items, payload, masks.mask));
}

TEST_P(PayloadShader, CopiesItemsThatAreTooLongForStagingMemory) {
  Masks masks;
  const Payload payload(kSourceBytes + 64);
  Items items(1, 0);
  items.source[0] = 3;
  items.length_in[0] = items.room[0] = kSourceBytes - 7;
  conformance::ShaderRun shader_run(GetParam(), "payload_copy", masks.table);
  const auto queue = shader_run.open_queue();
  run(*queue, items, {payload.source->data(), payload.destination->data()}, 1);
  ASSERT_NO_FATAL_FAILURE(expect_copies(items, payload, masks.mask));
}

TEST_P(PayloadShader, TakesTheKeysOfANewVersion) {
  Masks masks;
  Items items(200, 700);
  const Payload payload(items.destination_bytes);
  conformance::ShaderRun shader_run(GetParam(), "payload_copy", masks.table);
  const auto queue = shader_run.open_queue();
  for (int version = 0; version < 3; ++version) {
    std::ranges::rotate(masks.mask, masks.mask.begin() + 7);
    masks.publish();
    payload.clear();
    run(*queue, items, {payload.source->data(), payload.destination->data()}, 64);
    ASSERT_NO_FATAL_FAILURE(expect_copies(items, payload, masks.mask));
  }
}

PENUMBRA_FOR_EACH_ENGINE(PayloadShader);

}  // namespace
}  // namespace penumbra
