// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "gopt/width_choice.h"
#include "penumbra/engine.h"
#include "shaders/echo/echo.shader.h"

namespace penumbra::gopt {
namespace {

constexpr auto kTrialItems =
    static_cast<std::uint32_t>(WidthChoice::kWidths.size()) * WidthChoice::kSamples * WidthChoice::kSampleItems;
constexpr std::uint32_t kPorts = 7;

/// Has so many integers echoed in one batch, and looks at each answer.
void echo(EngineQueue& queue, const Shader& shader, const Table& table, std::uint32_t items) {
  std::vector<std::uint32_t> integers(items);
  std::iota(integers.begin(), integers.end(), 1);
  std::vector<std::uint16_t> ports(items, 0xFFFF);
  Batch batch{
      .shader = &shader, .table = &table, .items = items, .inputs = {integers.data()}, .outputs = {ports.data()}};
  ASSERT_EQ(queue.submit(batch), EngineQueue::Submitted::done);
  for (std::uint32_t i = 0; i < items; ++i) ASSERT_EQ(ports[i], integers[i] % kPorts) << i;
}

TEST(GoptEngine, TriesAllWidthsInOneLongBatch) {
  Table table("echo");
  const echo_view view{kPorts};
  table.publish(view, {});
  const auto engine = create_engine("gopt");
  const Shader& shader = *engine->find_shader("echo");
  const auto queue = engine->open_queue();
  echo(*queue, shader, table, kTrialItems - 1);
  EXPECT_TRUE(engine->findings().empty()) << "a part is missing";
  echo(*queue, shader, table, 3 * WidthChoice::kSampleItems);
  EXPECT_EQ(engine->findings().size(), 1U) << "and the rest of the batch goes with what was found";
}

}  // namespace
}  // namespace penumbra::gopt
