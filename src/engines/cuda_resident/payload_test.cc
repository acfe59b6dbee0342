// SPDX-License-Identifier: Apache-2.0
//
// Tests payload on a simulated resident kernel: in slots, in parts outside slots, in place and staged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "cuda_resident/engine.h"
#include "cuda_resident/fake_resident_test.h"
#include "engines/conformance.h"
#include "tables/payload_copy/payload_testing.h"

namespace penumbra::cuda_resident {
namespace {

using conformance::ShaderQueue;
using payload_testing::expect_copies;
using payload_testing::Items;
using payload_testing::Masks;
using payload_testing::Payload;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Which sides of the payload are shared.
using Shared = std::pair<bool, bool>;

class ResidentPayload : public testing::TestWithParam<Shared> {
 protected:
  std::unique_ptr<ShaderQueue> open_queue(ResidentEngine& engine, const Payload& payload) {
    auto queue = std::make_unique<ShaderQueue>(engine, world_.payload_shader(), masks_.table);
    if (GetParam().first) queue->share(payload.source);
    if (GetParam().second) queue->share(payload.destination);
    return queue;
  }
  void run(ShaderQueue& queue, Items& items, const Payload& payload, std::uint32_t batch_items) {
    payload.clear();
    payload_testing::run(queue, items, {payload.source->data(), payload.destination->data()}, batch_items);
    expect_copies(items, payload, masks_.mask);
  }

  cuda::FakeWorld world_;
  KernelFaults faults_;
  Masks masks_;
  const ResidentOptions options_{.slots = 8, .patience = std::chrono::minutes(1)};
};

TEST_P(ResidentPayload, IsCopiedInBatchesOfAnySize) {
  ResidentEngine engine(fake_backend(world_, faults_), options_);
  engine.use_table(masks_.table);
  Items items(1'500, 2'000);
  const Payload payload(items.destination_bytes);
  const auto queue = open_queue(engine, payload);
  for (const std::uint32_t batch_items : {1U, 16U, 64U, 500U, 1'500U}) {
    ASSERT_NO_FATAL_FAILURE(run(*queue, items, payload, batch_items));
  }
  EXPECT_GT(faults_.elsewhere, 0);
  const bool copies = !GetParam().first || !GetParam().second;
  EXPECT_EQ(testing::Value(engine.notes(), Contains(HasSubstr("bytes of payload were copied by the host"))), copies);
}

/// Nothing is registered, and nobody has to share anything.
TEST_P(ResidentPayload, StaysInPlaceOnADeviceThatSeesAllMemory) {
  world_.faults.sees_all_memory = true;
  Items items(500, 2'000);
  const Payload payload(items.destination_bytes);
  ResidentEngine engine(fake_backend(world_, faults_), options_);
  engine.use_table(masks_.table);
  const auto queue = open_queue(engine, payload);
  for (const std::uint32_t batch_items : {1U, 64U, 500U}) {
    ASSERT_NO_FATAL_FAILURE(run(*queue, items, payload, batch_items));
  }
  EXPECT_EQ(world_.faults.shared, 0);
  EXPECT_THAT(engine.notes(), Contains(HasSubstr("sees all memory of the host")));
  EXPECT_THAT(engine.notes(), Not(Contains(HasSubstr("copied by the host"))));
}

TEST_P(ResidentPayload, IsWholeAlthoughTheKernelEnds) {
  ResidentEngine engine(fake_backend(world_, faults_), options_);
  engine.use_table(masks_.table);
  Items items(500, 1'000);
  const Payload payload(items.destination_bytes);
  const auto queue = open_queue(engine, payload);
  for (const std::uint32_t batch_items : {16U, 64U}) {
    for (int i = 0; i < 6; ++i) {
      if (i == 2) faults_.ends = true;
      ASSERT_NO_FATAL_FAILURE(run(*queue, items, payload, batch_items));
    }
  }
}

TEST_P(ResidentPayload, TakesTurnsWithAShaderOfColumns) {
  ResidentEngine engine(fake_backend(world_, faults_), options_);
  engine.use_table(masks_.table);
  engine.use_table(world_.modulo);
  Items items(64, 300);
  const Payload payload(items.destination_bytes);
  const auto raw = engine.open_queue();
  if (GetParam().first) raw->share(payload.source);
  if (GetParam().second) raw->share(payload.destination);
  const std::vector<std::uint32_t> numbers = cuda::FakeWorld::numbers(32);
  for (int i = 0; i < 20; ++i) {
    std::vector<std::uint16_t> out(numbers.size(), 0xFFFF);
    Batch modulo = world_.modulo_batch(numbers, out);
    Batch copy;
    copy.shader = &world_.payload_shader();
    copy.table = &masks_.table;
    copy.items = 16;
    copy.inputs = {items.key.data(), items.source.data(), items.length_in.data(), items.destination.data(),
                   items.room.data()};
    copy.outputs = {items.length_out.data()};
    copy.source = payload.source->data();
    copy.destination = payload.destination->data();
    payload.clear();
    std::ranges::fill(items.length_out, ~0U);
    for (Batch* batch : {&modulo, &copy}) {
      const auto given = raw->submit(*batch);
      ASSERT_NE(given, EngineQueue::Submitted::full);
      while (given == EngineQueue::Submitted::queued && raw->poll() != batch) std::this_thread::yield();
    }
    for (std::size_t k = 0; k < out.size(); ++k) ASSERT_EQ(out[k], numbers[k] % cuda::FakeWorld::kModulus);
    Items first = items;
    for (auto* column : {&first.length_in, &first.room, &first.length_out}) column->resize(16);
    first.key.resize(16);
    ASSERT_NO_FATAL_FAILURE(expect_copies(first, payload, masks_.mask));
  }
}

INSTANTIATE_TEST_SUITE_P(Places, ResidentPayload,
                         testing::Values(Shared{false, false}, Shared{true, false}, Shared{false, true},
                                         Shared{true, true}));

}  // namespace
}  // namespace penumbra::cuda_resident
