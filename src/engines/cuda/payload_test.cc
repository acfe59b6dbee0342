// SPDX-License-Identifier: Apache-2.0
//
// Tests payload on a fake GPU: where it lies, how far it is cut, and that a failed GPU costs no byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/engine.h"
#include "cuda/eventually_test.h"
#include "cuda/fake_world_test.h"
#include "engines/conformance.h"
#include "tables/payload_copy/payload_testing.h"

namespace penumbra::cuda {
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

class CudaPayload : public testing::TestWithParam<Shared> {
 protected:
  std::unique_ptr<ShaderQueue> open_queue(CudaEngine& engine, const Payload& payload) {
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

  FakeWorld world_;
  Masks masks_;
  const LaunchOptions options_{
      .constraints = {}, .patience = std::chrono::minutes(1), .retry_after = std::chrono::milliseconds(20)};
};

TEST_P(CudaPayload, IsCopiedInBatchesOfAnySize) {
  Items items(3'000, 2'000);
  const Payload payload(items.destination_bytes);
  CudaEngine engine(world_.backend(), options_);
  engine.use_table(masks_.table);
  const auto queue = open_queue(engine, payload);
  for (const std::uint32_t batch_items : {1U, 64U, 3'000U}) {
    ASSERT_NO_FATAL_FAILURE(run(*queue, items, payload, batch_items));
  }
  EXPECT_GT(world_.faults.launches[0], 0);
  EXPECT_EQ(world_.faults.source == payload.source->data(), GetParam().first) << "copied in spite of being shared";
  EXPECT_EQ(world_.faults.destination == payload.destination->data(), GetParam().second);
  EXPECT_THAT(engine.notes(), Not(Contains(HasSubstr("came back"))));
  const bool copies = !GetParam().first || !GetParam().second;
  EXPECT_EQ(testing::Value(engine.notes(), Contains(HasSubstr("bytes of payload were copied by the host"))), copies);
}

/// Nothing is registered, and nobody has to share anything.
TEST_P(CudaPayload, StaysInPlaceOnADeviceThatSeesAllMemory) {
  world_.faults.sees_all_memory = true;
  Items items(500, 2'000);
  const Payload payload(items.destination_bytes);
  CudaEngine engine(world_.backend(), options_);
  engine.use_table(masks_.table);
  const auto queue = open_queue(engine, payload);
  for (const std::uint32_t batch_items : {1U, 64U, 500U}) {
    ASSERT_NO_FATAL_FAILURE(run(*queue, items, payload, batch_items));
  }
  EXPECT_EQ(world_.faults.shared, 0);
  EXPECT_THAT(engine.notes(), Contains(HasSubstr("sees all memory of the host")));
  EXPECT_THAT(engine.notes(), Not(Contains(HasSubstr("copied by the host"))));
  EXPECT_EQ(world_.faults.source, payload.source->data());
  EXPECT_EQ(world_.faults.destination, payload.destination->data());
}

TEST_P(CudaPayload, IsWholeAlthoughTheGpuFails) {
  Items items(500, 1'500);
  const Payload payload(items.destination_bytes);
  CudaEngine engine(world_.backend(), options_);
  engine.use_table(masks_.table);
  const auto queue = open_queue(engine, payload);
  for (const bool is_late : {false, true}) {
    world_.faults.fault_is_late = is_late;
    world_.faults.launches_until_fault = 3;
    for (int i = 0; i < 5; ++i) ASSERT_NO_FATAL_FAILURE(run(*queue, items, payload, 64));
  }
  EXPECT_THAT(engine.notes(), Contains(HasSubstr("came back")));
}

/// A GPU that hangs may write later. It writes the same bytes, and the submitter learns which memory it may write.
TEST_P(CudaPayload, SaysWhichDestinationsALostGpuMayStillWrite) {
  Items items(32, 400);
  const Payload payload(items.destination_bytes);
  CudaEngine engine(
      world_.backend(),
      {.constraints = {}, .patience = std::chrono::milliseconds(100), .retry_after = std::chrono::milliseconds(20)});
  engine.use_table(masks_.table);
  const auto queue = engine.open_queue();
  if (GetParam().first) queue->share(payload.source);
  if (GetParam().second) queue->share(payload.destination);
  Batch batch;
  batch.shader = &world_.payload_shader();
  batch.table = &masks_.table;
  batch.items = items.count();
  batch.inputs = {items.key.data(), items.source.data(), items.length_in.data(), items.destination.data(),
                  items.room.data()};
  batch.outputs = {items.length_out.data()};
  batch.source = payload.source->data();
  batch.destination = payload.destination->data();
  world_.faults.stuck = true;
  ASSERT_EQ(queue->submit(batch), EngineQueue::Submitted::queued);
  ASSERT_TRUE(eventually([&] { return queue->poll() == &batch; }));
  ASSERT_NO_FATAL_FAILURE(expect_copies(items, payload, masks_.mask));
  EXPECT_EQ(batch.is_still_written, GetParam().second);
  world_.faults.stuck = false;
  world_.faults.finish_abandoned();
  expect_copies(items, payload, masks_.mask);
}

INSTANTIATE_TEST_SUITE_P(Places, CudaPayload,
                         testing::Values(Shared{false, false}, Shared{true, false}, Shared{false, true},
                                         Shared{true, true}));

/// A table whose memory is one byte that no other memory has.
struct OneByteTable {
  explicit OneByteTable(Table::Content content) : table("bytes", content) { publish(100); }
  void publish(std::size_t bytes) {
    memory.assign(bytes, kByte);
    view = {reinterpret_cast<const std::uint8_t*>(memory.data())};
    table.publish(view, {{offsetof(payload_masks, mask), memory.data(), memory.size()}});
  }
  static constexpr std::byte kByte{0xE7};
  std::vector<std::byte> memory;
  payload_masks view{};
  Table table;
};

class CudaSecret : public testing::TestWithParam<Table::Content> {};

TEST_P(CudaSecret, IsErasedBeforeItsMemoryIsFreed) {
  FakeWorld world;
  world.faults.secret = OneByteTable::kByte;
  OneByteTable secret(GetParam());
  const Payload payload(4096);
  {
    CudaEngine engine(
        world.backend(),
        {.constraints = {}, .patience = std::chrono::minutes(1), .retry_after = std::chrono::milliseconds(20)});
    engine.use_table(secret.table);
    ShaderQueue queue(engine, world.payload_shader(), secret.table);
    for (const std::size_t bytes : {100U, 5'000U, 300U}) {
      secret.publish(bytes);
      Items items(64, 40);
      for (auto& each : items.key) each = 7;
      payload.clear();
      payload_testing::run(queue, items, {payload.source->data(), payload.destination->data()}, 64);
    }
  }
  EXPECT_GT(world.faults.freed, 2);
  EXPECT_EQ(world.faults.freed_with_secret > 0, GetParam() == Table::Content::open);
}

INSTANTIATE_TEST_SUITE_P(Contents, CudaSecret, testing::Values(Table::Content::open, Table::Content::secret));

}  // namespace
}  // namespace penumbra::cuda
