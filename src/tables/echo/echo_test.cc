// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "echo.shader.h"
#include "engines/conformance.h"
#include "engines/waiting_testing.h"

namespace penumbra {
namespace {

class EchoShader : public testing::TestWithParam<std::string> {};

TEST_P(EchoShader, GivesTheRemainderByTheNumberOfPorts) {
  std::mt19937 random(1);
  std::vector<std::uint32_t> integers(10'000);
  for (auto& integer : integers) integer = random();
  integers[0] = 0;
  integers[1] = 0xFFFFFFFF;
  for (const std::uint32_t ports : {1U, 2U, 3U, 4U, 255U, 65'535U}) {
    Table table("echo");
    const echo_view view{ports};
    table.publish(view, {});
    conformance::ShaderRun run(GetParam(), "echo", table);
    for (const std::uint32_t batch_items : conformance::kBatchSizes) {
      std::vector<std::uint16_t> chosen(integers.size(), 0xFFFF);
      run({integers.data()}, {chosen.data()}, integers.size(), batch_items);
      for (std::size_t i = 0; i < integers.size(); ++i) ASSERT_EQ(chosen[i], integers[i] % ports) << integers[i];
    }
  }
}

TEST_P(EchoShader, WakesAServiceThatWaits) {
  Table table("echo");
  const echo_view view{1009};
  table.publish(view, {});
  const auto engine = create_engine(GetParam());
  engine->use_table(table);
  conformance::expect_that_waiting_returns_batches(*engine, table, 1009);
}

TEST_P(EchoShader, SeesANewViewOnceItIsPublished) {
  Table table("echo");
  const echo_view before{10}, after{7};
  table.publish(before, {});
  conformance::ShaderRun run(GetParam(), "echo", table);
  const std::uint32_t integer = 123'456'789;
  std::uint16_t port = 0xFFFF;
  run({&integer}, {&port}, 1, 1);
  EXPECT_EQ(port, integer % 10);
  table.publish(after, {});
  run({&integer}, {&port}, 1, 1);
  EXPECT_EQ(port, integer % 7);
}

PENUMBRA_FOR_EACH_ENGINE(EchoShader);

class EchoShaderOfAnyCount : public testing::TestWithParam<std::string> {};

TEST_P(EchoShaderOfAnyCount, WritesAllItemsAndNoMore) {
  Table table("echo");
  const echo_view view{7};
  table.publish(view, {});
  conformance::ShaderRun run(GetParam(), "echo", table);
  std::vector<std::uint32_t> integers(1000);
  for (std::uint32_t i = 0; i < 1000; ++i) integers[i] = i * 2'654'435'761U;
  for (std::uint32_t count = 0; count <= 1000; ++count) {
    std::vector<std::uint16_t> chosen(count + 1, 0xFFFF);
    run({integers.data()}, {chosen.data()}, count, 1000);
    for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(chosen[i], integers[i] % 7) << i << " of " << count;
    ASSERT_EQ(chosen[count], 0xFFFF) << count;
  }
}

PENUMBRA_FOR_EACH_ENGINE_AND_SETTING(EchoShaderOfAnyCount);

}  // namespace
}  // namespace penumbra
