// SPDX-License-Identifier: Apache-2.0
//
// Shaders and tables for tests of the engine on a fake device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "crypto/jobs/cipher_jobs.shader.h"
#include "cuda/fake_device.h"
#include "engines/conformance.h"
#include "penumbra/huge_memory.h"
#include "penumbra/shader_entry.h"
#include "tables/dir24_8/dir24_8.h"
#include "tables/dir24_8/dir24_8.shader.h"
#include "tables/echo/echo.shader.h"
#include "tables/payload_copy/payload_copy.shader.h"

namespace penumbra::cuda {

/// A view that is longer than a line of a slot; its shader has two input columns.
struct WideView {
  std::array<std::uint32_t, 15> addends;
};
inline void add_one_of_many(WideView view, const std::uint8_t* which, const std::uint64_t* number, std::uint64_t* sum,
                            std::uint32_t n) {
  for (std::uint32_t i = 0; i < n; ++i) sum[i] = number[i] + view.addends[which[i] % view.addends.size()];
}

/// Has four shaders of the tree, which a CPU engine has too, and one that no CPU engine has.
class FakeWorld {
 public:
  static constexpr std::uint32_t kModulus = 1009;
  static constexpr unsigned kSeed = 5;  ///< Default seed of numbers().

  FakeWorld() {
    using Modulo = ShaderEntry<&echo_port>;
    using Lookup = ShaderEntry<&dir24_8_lookup>;
    using Payload = ShaderEntry<&payload_copy>;
    using Ciphers = ShaderEntry<&cipher_jobs>;
    using Wide = ShaderEntry<&add_one_of_many>;
    shaders_.add(Modulo::describe("echo"), &Modulo::call);
    shaders_.add(Lookup::describe("ipv4_dir24_8"), &Lookup::call);
    shaders_.add(Payload::describe("payload_copy"), &Payload::call);
    shaders_.add(Ciphers::describe("cipher_jobs"), &Ciphers::call);
    shaders_.add(Wide::describe("wide"), &Wide::call);
    modulo.publish(modulo_view_, {});
  }

  Backend backend(std::size_t devices = 1) { return fake_backend(faults, shaders_, devices); }
  const Shader& modulo_shader() const { return *shaders_.find("echo"); }
  const Shader& lookup_shader() const { return *shaders_.find("ipv4_dir24_8"); }
  const Shader& wide_shader() const { return *shaders_.find("wide"); }
  const Shader& payload_shader() const { return *shaders_.find("payload_copy"); }
  Batch modulo_batch(const std::vector<std::uint32_t>& in, std::vector<std::uint16_t>& out) const {
    Batch batch;
    batch.shader = &modulo_shader();
    batch.table = &modulo;
    batch.items = static_cast<std::uint32_t>(in.size());
    batch.inputs = {in.data()};
    batch.outputs = {out.data()};
    return batch;
  }
  static std::vector<std::uint32_t> numbers(std::size_t count, unsigned seed = kSeed) {
    std::mt19937 random(seed);
    std::vector<std::uint32_t> all(count);
    for (auto& each : all) each = static_cast<std::uint32_t>(random());
    return all;
  }
  /// Expects that a queue of modulo_shader() answers all numbers in batches of this size.
  static void expect_right(conformance::ShaderQueue& queue, const std::vector<std::uint32_t>& in,
                           std::uint32_t batch_items) {
    std::vector<std::uint16_t> out(in.size(), 0xFFFF);
    queue({in.data()}, {out.data()}, in.size(), batch_items);
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i] % kModulus) << i;
  }

  FakeFaults faults;
  Table modulo{"echo"};

 private:
  const echo_view modulo_view_{kModulus};
  FakeShaders shaders_;
};

/// Columns for the shader "echo" in one memory that can be shared; the output column is followed by unused space of the
/// same size.
class SharedColumns {
 public:
  explicit SharedColumns(std::size_t items) : items_(items), memory_(std::make_shared<HugeMemory>(items * 8)) {
    std::ranges::copy(FakeWorld::numbers(items), in());
  }
  const std::shared_ptr<HugeMemory>& memory() const { return memory_; }
  bool has(const std::byte* byte) const { return byte >= memory_->data() && byte < memory_->data() + memory_->bytes(); }

  /// Runs the first `items` items, and checks the answers and that nothing else is written.
  void check(conformance::ShaderQueue& queue, std::size_t items, std::uint32_t batch_items) {
    clear();
    queue({in()}, {out()}, items, batch_items);
    expect_answers(items);
  }
  /// Returns a batch of all items.
  Batch batch(const FakeWorld& world) const {
    Batch batch;
    batch.shader = &world.modulo_shader();
    batch.table = &world.modulo;
    batch.items = static_cast<std::uint32_t>(items_);
    batch.inputs = {in()};
    batch.outputs = {out()};
    return batch;
  }
  /// Marks all outputs as unwritten.
  void clear() { std::fill_n(out(), 2 * items_, kUnwritten); }
  /// Checks that `items` items are answered, and nothing else is written.
  void expect_answers(std::size_t items) const {
    for (std::size_t i = 0; i < items; ++i) ASSERT_EQ(out()[i], in()[i] % FakeWorld::kModulus) << i;
    for (std::size_t i = items; i < 2 * items_; ++i) ASSERT_EQ(out()[i], kUnwritten) << i << " is behind the column";
  }

 private:
  static constexpr std::uint16_t kUnwritten = 0xFFFF;

  std::uint32_t* in() const { return reinterpret_cast<std::uint32_t*>(memory_->data()); }
  std::uint16_t* out() const { return reinterpret_cast<std::uint16_t*>(memory_->data() + items_ * 4); }

  const std::size_t items_;
  const std::shared_ptr<HugeMemory> memory_;
};

/// An IPv4 table in which every commit gives all prefixes the same, higher next hop. A reader can therefore tell from
/// which states its answers are.
class ChangingTable {
 public:
  ChangingTable() { change(0); }
  Table& table() { return owner_.table(); }

  void change(std::uint16_t next_hop) {
    begun_ = next_hop;
    for (const Ipv4Prefix& prefix : kPrefixes) owner_.insert(prefix, next_hop);
    owner_.commit();
    complete_ = next_hop;
  }
  void load(std::uint16_t index) {
    const auto next_hop = static_cast<std::uint16_t>(100 * index);
    std::vector<Dir24_8::Entry> entries;
    entries.reserve(kPrefixes.size());
    for (const Ipv4Prefix& prefix : kPrefixes) entries.push_back({prefix, next_hop});
    begun_ = next_hop;
    owner_.load(entries);
    complete_ = next_hop;
  }
  /// Loads with an index from 1 on, up to `loads`, each followed by changes up to `changes`, at most 100.
  void load_and_change(std::uint16_t loads, std::uint16_t changes) {
    for (std::uint16_t i = 1; i < loads; ++i) {
      load(i);
      for (std::uint16_t j = 1; j < changes; ++j) change(static_cast<std::uint16_t>(100 * i + j));
    }
  }
  /// Returns addresses that have a next hop.
  static std::vector<std::uint32_t> addresses() {
    std::vector<std::uint32_t> all;
    for (int i = 0; i < 16; ++i) {
      for (const Ipv4Prefix& prefix : kPrefixes) all.push_back(prefix.address.value);
    }
    return all;
  }
  /// Checks a batch of look-ups. May run on another thread than the owner.
  void check(conformance::ShaderQueue& queue) {
    const std::vector<std::uint32_t> addresses = ChangingTable::addresses();
    std::vector<std::uint16_t> found(addresses.size(), Dir24_8::kNoRoute);
    const std::uint16_t least = complete_;
    ++reader_.turns;
    queue({addresses.data()}, {found.data()}, found.size(), static_cast<std::uint32_t>(found.size()));
    ++reader_.turns;
    const std::uint16_t most = begun_;
    for (const std::uint16_t each : found) {
      wrong_state += least <= each && each <= most ? 0 : 1;
      mixed += each == found[0] ? 0 : 1;
    }
    ++lookups;
  }

  /// Checks continuously on another thread while `action` runs.
  template <class Action>
  void check_during(conformance::ShaderQueue& queue, const Action& action) {
    std::atomic<bool> over{false};
    std::thread reader([&] {
      while (!over) check(queue);
    });
    action();
    over = true;
    reader.join();
  }

  /// Changes the table continuously on another thread, while `action` runs and for a little longer.
  template <class Action>
  void change_during(const Action& action, std::chrono::microseconds pause = {}) {
    std::atomic<bool> over{false};
    std::atomic<int> changes{0};
    std::thread owner([&] {
      for (std::uint16_t i = 0; !over; ++changes) {
        change(++i % 1000);
        if (pause.count() > 0) std::this_thread::sleep_for(pause);
      }
    });
    const auto wait_for_changes = [&changes](int more) {
      for (const int until = changes + more; changes < until;) std::this_thread::yield();
    };
    wait_for_changes(1);
    action();
    wait_for_changes(3);
    over = true;
    owner.join();
  }

  std::atomic<std::size_t> lookups{0};
  std::atomic<std::size_t> wrong_state{0};  ///< Answers that were not right when they were given.
  std::atomic<std::size_t> mixed{0};        ///< Answers of two states in one batch: allowed for a CPU, not for a GPU.

 private:
  static constexpr std::array<Ipv4Prefix, 5> kPrefixes{Ipv4Prefix{{0x0A000000}, 24}, Ipv4Prefix{{0x0A000100}, 24},
                                                       Ipv4Prefix{{0x0B000000}, 12}, Ipv4Prefix{{0xC0000280}, 25},
                                                       Ipv4Prefix{{0xC0000301}, 32}};

  /// One reader at a time, which may run on the CPU; `turns` is odd while it reads.
  struct Reader final : GracePeriods {
    std::uint64_t start() override { return turns; }
    bool elapsed(std::uint64_t token, bool /*wait*/) override {
      while (token % 2 == 1 && turns == token) std::this_thread::yield();
      return true;
    }
    std::atomic<std::uint64_t> turns{0};
  };

  Reader reader_;
  Dir24_8 owner_{reader_};
  std::atomic<std::uint16_t> begun_{0}, complete_{0};
};

/// A batch and the place of its answers.
struct Asked {
  std::vector<std::uint16_t> out;
  Batch batch;
};

/// Keeps as many batches of one queue in flight as it takes. Calls `check` with each answered batch, which must be the
/// oldest.
template <class Check>
class InOrder {
 public:
  InOrder(EngineQueue& queue, Check check) : queue_(queue), check_(std::move(check)) {}

  /// Returns room for the next batch, which submit() submits.
  Asked& next() { return asked_.emplace_back(); }
  void submit() {
    Batch& batch = asked_.back().batch;
    auto submitted = queue_.submit(batch);
    while (submitted == EngineQueue::Submitted::full) {
      ASSERT_NO_FATAL_FAILURE(poll());
      submitted = queue_.submit(batch);
    }
    if (submitted == EngineQueue::Submitted::done) take_back(&batch);
  }
  void finish() {
    while (!asked_.empty()) ASSERT_NO_FATAL_FAILURE(poll());
  }

 private:
  void poll() {
    if (const Batch* batch = queue_.poll()) take_back(batch);
  }
  void take_back(const Batch* batch) {
    ASSERT_EQ(batch, &asked_.front().batch);
    ASSERT_NO_FATAL_FAILURE(check_(asked_.front()));
    asked_.pop_front();
  }

  EngineQueue& queue_;
  Check check_;
  std::deque<Asked> asked_;
};

/// Runs two shaders on two tables in turn through one queue, with many batches in flight, and checks all answers.
inline void check_by_turns(Engine& engine, const FakeWorld& world, ChangingTable& routes) {
  constexpr std::uint16_t kNextHop = 77;
  routes.change(kNextHop);
  const std::vector<std::uint32_t> numbers = FakeWorld::numbers(32), addresses = ChangingTable::addresses();
  const auto queue = engine.open_queue();
  InOrder batches(*queue, [&](const Asked& asked) {
    for (std::size_t i = 0; i < asked.batch.items; ++i) {
      ASSERT_EQ(asked.out[i], asked.batch.table == &world.modulo ? numbers[i] % FakeWorld::kModulus : kNextHop) << i;
    }
  });
  for (int i = 0; i < 1000; ++i) {
    const bool looks_up = i % 2 == 1;
    Asked& next = batches.next();
    next.out.assign(looks_up ? addresses.size() : numbers.size(), 0xFFFF);
    next.batch = world.modulo_batch(looks_up ? addresses : numbers, next.out);
    next.batch.shader = engine.find_shader(looks_up ? "ipv4_dir24_8" : "echo");
    if (looks_up) next.batch.table = &routes.table();
    ASSERT_NO_FATAL_FAILURE(batches.submit());
  }
  batches.finish();
}

}  // namespace penumbra::cuda
