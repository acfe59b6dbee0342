// SPDX-License-Identifier: Apache-2.0
//
// Tests `auto` with shaders that have payload: the choice by length class.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "opportunistic/engine.h"
#include "opportunistic/length_watch.h"
#include "opportunistic/load_choice.h"
#include "opportunistic/timed_world_test.h"
#include "penumbra/sample_input.h"

namespace penumbra::opportunistic {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t kPayloadView = 7, kFull = 64;
constexpr std::uint32_t kSampleNumber = 0x12345678;

/// The CPU is faster for short items, and the GPU for long ones.
constexpr Timing kPayloadCpu{.of_item = 10, .of_batch = 20, .of_100_bytes = 20};
constexpr Timing kPayloadGpu{
    .is_synchronous = false, .of_item = 1, .of_batch = 9000, .of_100_bytes = 1, .latency = 3000, .period = 100};

struct SampleSeen {
  int columns = 0, sources = 0;
};
SampleSeen sample_seen;

class NumberSample final : public SampleInput {
 public:
  NumberSample() { table_.publish(kPayloadView, {}); }
  Table* table() override { return &table_; }
  void fill_column(std::size_t column, std::span<std::byte> elements) const override {
    EXPECT_EQ(column, 0U);
    EXPECT_EQ(elements.size(), kFull * sizeof kSampleNumber);
    std::memcpy(elements.data(), &kSampleNumber, sizeof kSampleNumber);
    ++sample_seen.columns;
  }
  void fill_source(std::span<std::byte> /*bytes*/) const override { ++sample_seen.sources; }

 private:
  Table table_{"sample numbers"};
};

[[maybe_unused]] const bool kRegistered = register_sample_input(
    "payload with sample", [] { return std::unique_ptr<SampleInput>(std::make_unique<NumberSample>()); });

class AutoWithPayload : public testing::Test {
 protected:
  void make(const std::string& shader_name) {
    queue_.reset();
    engine_.reset();
    seen_ = std::make_unique<std::array<Seen, 2>>();
    std::vector<Member> members;
    const std::vector<std::string> shaders{shader_name};
    members.push_back({"cpu", true, std::make_unique<TimedEngine>(kPayloadCpu, (*seen_)[0], shaders)});
    members.push_back({"gpu", false, std::make_unique<TimedEngine>(kPayloadGpu, (*seen_)[1], shaders)});
    engine_ = std::make_unique<AutoEngine>(std::move(members), 0, &test_now);
    engine_->use_table(table_);
    shader_ = engine_->find_shader(shader_name);
    engine_->announce(*shader_, table_);
    queue_ = engine_->open_queue_for(0);
  }
  void SetUp() override { table_.publish(kPayloadView, {}); }

  /// Submits full batches with a backlog of items with `length` bytes. Returns the part that went to the GPU.
  double press(std::uint32_t length, int batches) {
    const std::uint64_t before = (*seen_)[1].batches;
    std::array<std::uint32_t, kFull> in{}, lengths{};
    std::array<std::uint64_t, kFull> positions{};
    lengths.fill(length);
    for (int i = 0; i < batches; ++i) {
      std::array<std::uint32_t, kFull> out{};
      in.fill(static_cast<std::uint32_t>(i));
      Batch batch{.shader = shader_, .table = &table_, .items = kFull};
      batch.inputs = {in.data(), positions.data(), lengths.data()};
      batch.outputs = {out.data()};
      batch.has_backlog = true;
      if (queue_->submit(batch) == EngineQueue::Submitted::queued) {
        const Batch* back = nullptr;
        while (back == nullptr) back = queue_->poll();
        EXPECT_EQ(back, &batch);
      }
      EXPECT_EQ(batch.shader, shader_);
      for (const std::uint32_t each : out) EXPECT_EQ(each, static_cast<std::uint32_t>(i) ^ kPayloadView);
    }
    return static_cast<double>((*seen_)[1].batches - before) / batches;
  }
  std::string notes() const {
    std::string text;
    for (const auto& line : engine_->notes()) text += line + "\n";
    return text;
  }

  std::unique_ptr<std::array<Seen, 2>> seen_;
  Table table_{"numbers"};
  std::unique_ptr<AutoEngine> engine_;
  const Shader* shader_ = nullptr;
  std::unique_ptr<EngineQueue> queue_;
};

TEST_F(AutoWithPayload, MeasuresEachLengthClass) {
  make("payload");
  engine_->load_calibrations({});
  const auto calibrations = engine_->calibrations();
  ASSERT_EQ(calibrations.size(), kLengths.size());
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    EXPECT_EQ(calibrations[i].shader, "payload");
    EXPECT_EQ(calibrations[i].length, kLengths.at(i));
    const auto cpu = costs_of(std::span(calibrations[i].figures).first(kCostFigures));
    ASSERT_TRUE(cpu);
    const auto of_cpu = [&](std::uint32_t items) {
      const std::uint32_t nanoseconds = 20U + 10U * items + 20U * (items * kLengths.at(i)) / 100U;
      return static_cast<double>(nanoseconds);
    };
    EXPECT_DOUBLE_EQ(cpu->few, of_cpu(kFew));
    EXPECT_DOUBLE_EQ(cpu->chunk, of_cpu(kFull));
  }
  EXPECT_THAT(engine_->notes(),
              AllOf(Contains("payload of 64 bytes: cpu"),
                    Contains("payload of 1408 bytes: cpu under light load, tried under heavy load: gpu"),
                    Contains(HasSubstr("payload of 1408 bytes on gpu: 8, 64 items"))));
  EXPECT_GT((*seen_)[1].shared, 0U) << "a GPU reads packets where they lie";
  EXPECT_EQ((*seen_)[0].shared, 0U);
}

TEST_F(AutoWithPayload, ChoosesByTheLengthOfTheTraffic) {
  make("payload");
  engine_->load_calibrations({});
  EXPECT_EQ(press(64, 1000), 0) << "the GPU is not worth a trial";
  press(1408, 1000);
  EXPECT_GT(press(1408, 10'000), 0.9);
  press(100, 1000);
  EXPECT_EQ(press(100, 1000), 0);
}

TEST_F(AutoWithPayload, TakesTheCalibrationOfEachClassFromAnEarlierRun) {
  make("payload");
  engine_->load_calibrations({});
  auto calibrations = engine_->calibrations();
  make("payload");
  engine_->load_calibrations(calibrations);
  EXPECT_EQ((*seen_)[0].batches + (*seen_)[1].batches, 0U) << "nothing was measured";
  EXPECT_THAT(engine_->calibrations(), IsEmpty());
  calibrations.erase(calibrations.begin() + 1);
  make("payload");
  engine_->load_calibrations(calibrations);
  ASSERT_EQ(engine_->calibrations().size(), 1U);
  EXPECT_EQ(engine_->calibrations()[0].length, kLengths[1]);
}

TEST_F(AutoWithPayload, MeasuresOnTheSampleOfTheShader) {
  sample_seen = {};
  make("payload with sample");
  EXPECT_THAT((*seen_)[0].told, Contains("uses sample numbers"));
  EXPECT_THAT((*seen_)[1].told, Contains("uses sample numbers"));
  engine_->load_calibrations({});
  EXPECT_GT(sample_seen.columns, 0);
  EXPECT_GT(sample_seen.sources, 0);
  EXPECT_EQ(engine_->calibrations().size(), kLengths.size());
  EXPECT_EQ(make_sample_input("payload"), nullptr);
}

TEST(LengthWatch, ChangesTheClassAfterTwoRoundsThatAgree) {
  LengthWatch watch;
  const auto round = [&watch](std::uint64_t mean) {
    bool has_changed = false;
    for (std::uint32_t i = 0; i < LengthWatch::kRound; ++i) has_changed |= watch.took(mean * 10, 10);
    return has_changed;
  };
  EXPECT_FALSE(round(1408));
  EXPECT_FALSE(round(64)) << "a single round of long packets changes nothing";
  EXPECT_FALSE(round(1408));
  EXPECT_TRUE(round(1400));
  EXPECT_EQ(watch.length_class(), 2U);
  EXPECT_FALSE(round(9000));
  EXPECT_FALSE(round(512));
  EXPECT_FALSE(round(200)) << "the rounds differ";
  EXPECT_TRUE(round(255));
  EXPECT_EQ(watch.length_class(), 0U);
  for (std::size_t i = 0; i < kLengths.size(); ++i) EXPECT_EQ(class_of(kLengths.at(i)), i);
}

}  // namespace
}  // namespace penumbra::opportunistic
