// SPDX-License-Identifier: Apache-2.0
//
// Tests that the packets of ports which come and go are in memory that the engines share.
#include "runtime/packet_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "penumbra/lookup_function.h"
#include "runtime/scripted_devices.h"

namespace penumbra::runtime {
namespace {

using test::ChangingRouter;
using Begins = std::multiset<const std::byte*>;  ///< First bytes of memory.

/// Calls that the engine and its queues received.
struct Calls {
  std::mutex mutex;
  Begins registered;
  std::map<const EngineQueue*, Begins> shared;
  unsigned unregistered_shares = 0;
} calls;

const Shader kPayloadShader{.name = "test_payload",
                            .view_bytes = 1,
                            .input_bytes = {8, 4},
                            .output_bytes = {1},
                            .source = PayloadColumns{.positions = 0}};

class SharingQueue final : public EngineQueue {
 public:
  SharingQueue() {
    const std::lock_guard lock(calls.mutex);
    calls.shared[this];
  }
  ~SharingQueue() override {
    const std::lock_guard lock(calls.mutex);
    calls.shared.erase(this);
  }
  Submitted submit(Batch& /*batch*/) noexcept override { return Submitted::done; }
  Batch* poll() noexcept override { return nullptr; }
  void share(std::shared_ptr<const HugeMemory> memory) override {
    const std::lock_guard lock(calls.mutex);
    calls.shared[this].insert(memory->data());
    if (!calls.registered.contains(memory->data())) ++calls.unregistered_shares;
  }
  void unshare(const HugeMemory& memory) override {
    const std::lock_guard lock(calls.mutex);
    calls.shared[this].erase(memory.data());
  }
};

class SharingEngine final : public Engine {
 public:
  const Shader* find_shader(const std::string& name) const override {
    return name == kPayloadShader.name ? &kPayloadShader : nullptr;
  }
  void use_table(Table& /*table*/) override {}
  std::unique_ptr<EngineQueue> open_queue() override { return std::make_unique<SharingQueue>(); }
  std::shared_ptr<void> register_memory(const std::shared_ptr<const HugeMemory>& memory) override {
    const std::lock_guard lock(calls.mutex);
    calls.registered.insert(memory->data());
    return {nullptr, [begin = memory->data()](std::nullptr_t) {
              const std::lock_guard inner(calls.mutex);
              calls.registered.erase(begin);
            }};
  }
};

[[maybe_unused]] const bool kSharingEngine = register_engine(
    {.name = "test_sharing",
     .summary = "for tests",
     .priority = -3,
     .settings = {},
     .probe = [] { return Availability{true, "always"}; },
     .create = [](const EngineSettings&) -> std::unique_ptr<Engine> { return std::make_unique<SharingEngine>(); }});

/// Passes all packets, without a job.
class PayloadFunction final : public LookupFunction {
 public:
  PayloadFunction() { table_.publish(kView, {}); }
  const std::vector<Reason>& reasons() const override {
    static const std::vector<Reason> kNone;
    return kNone;
  }
  std::string shader() const override { return kPayloadShader.name; }
  Table* table() override { return &table_; }
  void pre_shade(Chunk& /*chunk*/) noexcept override {}
  std::string trace(const Chunk& /*chunk*/, std::uint16_t /*packet*/) const override { return ""; }
  std::vector<std::string> differences(const Function& /*next*/, const ConfigNode& /*config*/) const override {
    return {};
  }
  void exchange(Function& /*next*/) override {}

 private:
  static constexpr std::uint8_t kView = 0;
  Table table_{"test_payload"};
};

[[maybe_unused]] const bool kPayloadFunction = register_function(
    {.name = "test_payload",
     .summary = "passes packets",
     .topics = {},
     .create = [](const ConfigNode& /*config*/, const FunctionContext& /*context*/) -> std::unique_ptr<Function> {
       return std::make_unique<PayloadFunction>();
     }});

bool is_registered(const std::byte* begin) {
  const std::lock_guard lock(calls.mutex);
  return calls.registered.contains(begin);
}

/// Returns the number of queues that share the memory.
std::ptrdiff_t sharing(const std::byte* begin) {
  const std::lock_guard lock(calls.mutex);
  return std::ranges::count_if(calls.shared, [begin](const auto& each) { return each.second.contains(begin); });
}

/// Returns the first range of the pool.
const std::byte* begin_of(const io::PacketPool& pool) {
  for (const auto& each : io::memory_of_pools()) {
    if (each.pool == pool) return each.ranges.front()->data();
  }
  return nullptr;
}

TEST(PacketMemory, OfPortsThatComeAndGoIsShared) {
  constexpr std::uint16_t kWorkers = 2;
  ChangingRouter bed(ChangingRouter::ports_a_b(), kWorkers, "  - test_payload: {engine: test_sharing}\n");
  bed.start();
  io::PacketPool pool = io::create_pool({.packets = 2047, .data_room = 2176});
  const std::weak_ptr<rte_mempool> alive = pool;
  const std::byte* const begin = begin_of(pool);
  ASSERT_NE(begin, nullptr);
  EXPECT_FALSE(is_registered(begin));
  bed.device("c").memory = pool;
  bed.change(ChangingRouter::ports_a_b() + ChangingRouter::line("c"));
  EXPECT_TRUE(is_registered(begin));
  EXPECT_EQ(sharing(begin), kWorkers);
  bed.wait_until_sent(2);
  bed.change(ChangingRouter::ports_a_b());
  bed.device("c").memory.reset();
  pool.reset();
  EXPECT_EQ(sharing(begin), kWorkers) << "packets may still be in that memory";
  EXPECT_FALSE(alive.expired());
  bed.change(ChangingRouter::ports_a_b() + ChangingRouter::line("d"));
  EXPECT_EQ(sharing(begin), 0);
  EXPECT_FALSE(is_registered(begin));
  EXPECT_TRUE(alive.expired());
  bed.stop();
  bed.join_and_check();
  EXPECT_EQ(calls.unregistered_shares, 0U);
}

/// The device is opened and its memory registered before a function refuses the port.
TEST(PacketMemory, OfAPortThatAFunctionRefusesIsFreed) {
  ChangingRouter bed(ChangingRouter::ports_a_b(), 1, "  - test_payload: {engine: test_sharing}\n");
  bed.start();
  io::PacketPool pool = io::create_pool({.packets = 2047, .data_room = 2176});
  const std::weak_ptr<rte_mempool> alive = pool;
  bed.device("c").memory = std::move(pool);
  const std::string refused = "mtu: " + std::to_string(test::kRefusedMtu);
  EXPECT_ANY_THROW(bed.change(ChangingRouter::ports_a_b() + ChangingRouter::line("c", refused)));
  bed.device("c").memory.reset();
  EXPECT_FALSE(alive.expired());
  bed.change(ChangingRouter::ports_a_b() + ChangingRouter::line("d"));
  EXPECT_TRUE(alive.expired());
  bed.stop();
  bed.join_and_check();
}

}  // namespace
}  // namespace penumbra::runtime
