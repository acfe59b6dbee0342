// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gopt/width_choice.h"
#include "penumbra/engine.h"
#include "tables/echo/echo.shader.h"

namespace penumbra::gopt {
namespace {

/// More items than a trial uses of long batches.
constexpr std::uint32_t kTrialItems = (WidthChoice::kWidths.size() + 1) * WidthChoice::kRounds * 4096;
constexpr std::uint32_t kPorts = 7;

/// Runs `echo` on one batch of `items` integers and checks each answer.
void echo(EngineQueue& queue, const Shader& shader, const Table& table, std::uint32_t items) {
  std::vector<std::uint32_t> integers(items);
  std::iota(integers.begin(), integers.end(), 1);
  std::vector<std::uint16_t> ports(items, 0xFFFF);
  Batch batch{
      .shader = &shader, .table = &table, .items = items, .inputs = {integers.data()}, .outputs = {ports.data()}};
  ASSERT_EQ(queue.submit(batch), EngineQueue::Submitted::done);
  for (std::uint32_t i = 0; i < items; ++i) ASSERT_EQ(ports[i], integers[i] % kPorts) << i;
}

class GoptEngine : public testing::Test {
 protected:
  GoptEngine() { table_.publish(view_, {}); }

  Table table_{"echo"};
  const echo_view view_{kPorts};
  std::unique_ptr<Engine> engine_ = create_engine("gopt");
  const Shader& shader_ = *engine_->find_shader("echo");
  std::unique_ptr<EngineQueue> queue_ = engine_->open_queue();
};

TEST_F(GoptEngine, TriesAllWidthsInOneLongBatch) {
  echo(*queue_, shader_, table_, 2 * 4096);
  EXPECT_TRUE(engine_->calibrations().empty()) << "a trial takes more";
  echo(*queue_, shader_, table_, kTrialItems);
  EXPECT_EQ(engine_->calibrations().size(), 1U) << "and the rest of the batch goes with what was found";
}

TEST_F(GoptEngine, ChoosesForEachLengthOfBatches) {
  for (std::uint32_t i = 0; i < kTrialItems / 64; ++i) echo(*queue_, shader_, table_, 64);
  const auto knows = [this](std::uint32_t items) {
    return engine_->calibrations().at(0).figures.at(2 * length_class(items)) != 0;
  };
  EXPECT_TRUE(knows(64));
  EXPECT_FALSE(knows(8));
  for (std::uint32_t i = 0; i < kTrialItems / 8; ++i) echo(*queue_, shader_, table_, 8);
  EXPECT_TRUE(knows(8));
  EXPECT_FALSE(knows(4096));
}

TEST_F(GoptEngine, BeginsWithWhatAnEarlierRunFoundForEachLength) {
  EngineCalibration earlier{.shader = "echo", .size_class = table_.size_class()};
  earlier.figures.resize(2 * kLengthClasses);
  earlier.figures[2 * length_class(64)] = 24;
  earlier.figures[2 * length_class(64) + 1] = 1.5;
  earlier.figures[2 * length_class(8)] = -3e300;
  engine_->load_calibrations({earlier});
  echo(*queue_, shader_, table_, 64);
  echo(*queue_, shader_, table_, 8);
  EXPECT_EQ(engine_->notes(),
            std::vector<std::string>{"echo, batches of 33 to 64: width 24, 1.50 times width 1 in an earlier run"});
}

}  // namespace
}  // namespace penumbra::gopt
