// SPDX-License-Identifier: Apache-2.0
//
// Runs a shader's test, written once, on every engine that this machine has:
//
//   class MyShader : public testing::TestWithParam<std::string> {};
//   TEST_P(MyShader, EqualsTheOracle) {
//     ShaderRun run(GetParam(), "my_shader", table);
//     run({in.data()}, {out.data()}, in.size(), 64);
//   }
//   PENUMBRA_FOR_EACH_ENGINE(MyShader);
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "penumbra/engine.h"

namespace penumbra::conformance {

/// Batch sizes that reveal faults which depend on the size: one item, an odd number, a chunk, a size for accelerators.
inline constexpr std::array<std::uint32_t, 4> kBatchSizes{1, 7, 64, 4096};

inline std::vector<std::string> available_engines() {
  std::vector<std::string> names;
  for (const EngineInfo* engine : engines_here()) names.push_back(engine->name);
  return names;
}

/// Returns the available engines, and each engine again with every tested value of its settings.
inline std::vector<std::string> available_engines_and_settings() {
  std::vector<std::string> choices = available_engines();
  for (const EngineInfo* engine : engines_here()) {
    for (const auto& setting : engine->settings) {
      for (const auto value : setting.tested) {
        choices.push_back(engine->name + "," + setting.name + "=" + std::to_string(value));
      }
    }
  }
  return choices;
}

/// The bytes to which positions of payload refer.
struct Payload {
  const std::byte* source = nullptr;
  std::byte* destination = nullptr;
};

/// Runs a shader over columns of any length. Used by one thread.
class ShaderQueue {
 public:
  ShaderQueue(Engine& engine, const Shader& shader, const Table& table)
      : shader_(shader), table_(table), queue_(engine.open_queue()) {}

  void share(std::shared_ptr<const HugeMemory> memory) { queue_->share(std::move(memory)); }

  /// Runs the shader over `items` items in batches of `batch_items`, and returns when all batches are done. Throws
  /// std::logic_error if the engine returns batches out of order, or no batch within ten seconds.
  void operator()(std::initializer_list<const void*> inputs, std::initializer_list<void*> outputs, std::size_t items,
                  std::uint32_t batch_items, Payload payload = {}) {
    if (inputs.size() != shader_.input_bytes.size() || outputs.size() != shader_.output_bytes.size()) {
      throw std::logic_error("the shader '" + shader_.name + "' has another number of columns");
    }
    for (std::size_t begin = 0; begin < items; begin += batch_items) {
      Batch& batch = batches_.emplace_back();
      batch.shader = &shader_;
      batch.table = &table_;
      batch.items = static_cast<std::uint32_t>(std::min<std::size_t>(batch_items, items - begin));
      batch.has_backlog = items - begin > batch_items;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        batch.inputs[i] = static_cast<const std::byte*>(inputs.begin()[i]) + begin * shader_.input_bytes[i];
      }
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        batch.outputs[i] = static_cast<std::byte*>(outputs.begin()[i]) + begin * shader_.output_bytes[i];
      }
      batch.source = payload.source;
      batch.destination = payload.destination;
      submit(batch);
    }
    while (!batches_.empty()) take_back(wait());
  }

 private:
  void submit(Batch& batch) {
    EngineQueue::Submitted result = queue_->submit(batch);
    while (result == EngineQueue::Submitted::full) {
      take_back(wait());
      result = queue_->submit(batch);
    }
    if (result == EngineQueue::Submitted::done) {
      if (batches_.size() != 1) throw std::logic_error("the engine overtook batches that it has queued");
      batches_.pop_front();
    }
  }
  Batch* wait() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    Batch* batch = queue_->poll();
    while (batch == nullptr) {
      if (std::chrono::steady_clock::now() > deadline) throw std::logic_error("the engine does not give a batch back");
      std::this_thread::yield();
      batch = queue_->poll();
    }
    return batch;
  }
  void take_back(const Batch* batch) {
    if (batch != &batches_.front()) throw std::logic_error("the engine gives batches back out of order");
    batches_.pop_front();
  }

  const Shader& shader_;
  const Table& table_;
  std::unique_ptr<EngineQueue> queue_;
  std::deque<Batch> batches_;  ///< Batches that the engine has, oldest first.
};

/// Fails the test if the engine reports a device failure: then the CPU computed answers in place of a GPU.
inline void expect_no_device_failure(const Engine& engine) {
  std::vector<std::string> notes = engine.notes();
  for (const auto& [name, member] : engine.members()) std::ranges::copy(member->notes(), std::back_inserter(notes));
  for (const std::string& note : notes) EXPECT_EQ(note.find("lost"), std::string::npos) << note;
}

/// Runs one shader on an engine instance that this object owns. Throws if the engine lacks the shader, or if its
/// signature differs from the one in `scalar`.
class ShaderRun {
 public:
  ShaderRun(const std::string& engine, const std::string& shader, Table& table)
      : engine_(create_engine(engine)), shader_(engine_->find_shader(shader)), table_(table) {
    if (shader_ == nullptr) throw std::logic_error("the engine '" + engine + "' lacks the shader '" + shader + "'");
    if (*shader_ != *create_engine("scalar")->find_shader(shader)) {
      throw std::logic_error("the engine '" + engine + "' reads the signature of '" + shader + "' in another way");
    }
    engine_->use_table(table);
    queue_ = open_queue();
  }

  ~ShaderRun() { expect_no_device_failure(*engine_); }
  ShaderRun(const ShaderRun&) = delete;
  ShaderRun& operator=(const ShaderRun&) = delete;

  const Shader& shader() const { return *shader_; }
  /// Opens a queue for another thread.
  std::unique_ptr<ShaderQueue> open_queue() { return std::make_unique<ShaderQueue>(*engine_, *shader_, table_); }
  /// Runs the shader. Call on the thread that made this object.
  void operator()(std::initializer_list<const void*> inputs, std::initializer_list<void*> outputs, std::size_t items,
                  std::uint32_t batch_items, Payload payload = {}) {
    (*queue_)(inputs, outputs, items, batch_items, payload);
  }

 private:
  std::unique_ptr<Engine> engine_;
  const Shader* shader_;
  Table& table_;
  std::unique_ptr<ShaderQueue> queue_;
};

/// Returns the engine choice of `info` as a GoogleTest name.
inline std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(name.begin(), name.end(), [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
  return name;
}

}  // namespace penumbra::conformance

/// Runs the tests of a suite (TestWithParam<std::string>, the parameter is an engine choice) on every engine that this
/// machine can run.
#define PENUMBRA_FOR_EACH_ENGINE(suite)                                                                   \
  INSTANTIATE_TEST_SUITE_P(Engines, suite, testing::ValuesIn(penumbra::conformance::available_engines()), \
                           penumbra::conformance::test_name)
/// Runs the tests of a suite as a core without AVX-512 does. For shaders that have an AVX-512 form.
#define PENUMBRA_WITHOUT_AVX512(suite) \
  INSTANTIATE_TEST_SUITE_P(WithoutAvx512, suite, testing::Values("scalar,avx512=0"), penumbra::conformance::test_name)
/// Runs the tests of a suite on every engine, and with every tested value of the engines' settings.
#define PENUMBRA_FOR_EACH_ENGINE_AND_SETTING(suite)                                                                    \
  INSTANTIATE_TEST_SUITE_P(Engines, suite, testing::ValuesIn(penumbra::conformance::available_engines_and_settings()), \
                           penumbra::conformance::test_name)
