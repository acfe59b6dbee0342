// SPDX-License-Identifier: Apache-2.0
//
// Tests what holds for every engine and every shader, and the reading of a shader's signature.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "engines/conformance.h"
#include "penumbra/shader_entry.h"
#include "testing/message_of.h"

namespace penumbra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Engines, HaveDifferentNamesAndStandBestFirst) {
  std::set<std::string> names;
  for (const auto& engine : engines()) EXPECT_TRUE(names.insert(engine.name).second) << engine.name;
  for (std::size_t i = 1; i < engines().size(); ++i) EXPECT_GE(engines()[i - 1].priority, engines()[i].priority);
}

TEST(Engines, OfAnyMachineIncludeScalar) {
  EXPECT_THAT(conformance::available_engines(), testing::Contains("scalar"));
}

TEST(Engines, SayWhyTheyAreOrAreNotAvailable) {
  for (const auto& engine : engines()) {
    EXPECT_NE(engine.probe().reason, "") << engine.name;
    EXPECT_NE(engine.summary, "") << engine.name;
  }
}

TEST(Engines, AutoIsOneOfItsOwnOnlyWhereThereIsAChoice) {
  const bool has_others = std::ranges::any_of(engines(), [](const EngineInfo& info) {
    return info.name != kAuto && !info.is_synchronous && info.probe().available;
  });
  EXPECT_EQ(resolve_engine("auto", "echo"), has_others ? kAuto : engine_at_once("echo"));
  EXPECT_EQ(resolve_engine("auto,max_delay=50", "echo"), has_others ? "auto,max_delay=50" : engine_at_once("echo"));
}

TEST(Engines, OnTheWorkersCoreTheBestIsNoWorseThanScalar) {
  const auto best = std::ranges::find(engines(), engine_at_once("echo"), &EngineInfo::name);
  ASSERT_NE(best, engines().end());
  EXPECT_TRUE(best->is_synchronous);
  EXPECT_GE(best->priority, std::ranges::find(engines(), "scalar", &EngineInfo::name)->priority);
  EXPECT_THROW(engine_at_once("no such shader"), std::runtime_error);
}

TEST(Engines, WithoutAShaderAreNotChosenForIt) {
  for (const std::string name : {"auto", "scalar"}) {
    const std::string message = message_of<std::runtime_error>([&] { resolve_engine(name, "no such shader"); });
    EXPECT_THAT(message, HasSubstr("engine '" + name + "' has no shader 'no such shader'"));
    EXPECT_THAT(message, HasSubstr("engines that have it here: none"));
  }
}

TEST(Engines, ThatAreUnknownAreNamedWithTheNearestOne) {
  const std::string message = message_of<std::invalid_argument>([&] { create_engine("skalar"); });
  EXPECT_THAT(message, HasSubstr("skalar"));
  EXPECT_THAT(message, HasSubstr("did you mean 'scalar'?"));
}

TEST(Engines, TakeSettingsWithinTheirBounds) {
  for (const auto& engine : engines()) {
    for (const auto& setting : engine.settings) {
      EXPECT_THAT(describe_settings(engine), testing::Contains(HasSubstr(setting.name + "=")));
      const std::string told = engine.name + "," + setting.name + "=";
      for (const std::string& choice : {told + std::to_string(setting.least), told + std::to_string(setting.most)}) {
        EXPECT_NO_THROW(check_engine(choice));
        if (engine.probe().available) {
          EXPECT_NO_THROW(create_engine(choice));
        }
      }
      const std::string least = std::to_string(setting.least), beyond = std::to_string(setting.most + 1);
      for (const char* wrong : {"", "x", "1x", "-1", "99999999999999999999", beyond.c_str()}) {
        EXPECT_THROW(check_engine(told + wrong), std::invalid_argument) << told << wrong;
      }
      EXPECT_THROW(check_engine(engine.name + "," + setting.name), std::invalid_argument);
      EXPECT_THROW(check_engine(engine.name + "," + setting.name + "s=1"), std::invalid_argument);
      std::string twice = told;
      twice.append(least).append(told.substr(engine.name.size())).append(least);
      EXPECT_THROW(check_engine(twice), std::invalid_argument) << twice;
    }
  }
  for (const std::string wrong : {"auto,width=1", "scalar,", "scalar,width=1", ",", ""}) {
    EXPECT_THROW(check_engine(wrong), std::invalid_argument) << wrong;
  }
  EXPECT_NO_THROW(check_engine("auto"));
}

class EachEngine : public testing::TestWithParam<std::string> {};

TEST_P(EachEngine, IsWhatItsNameResolvesTo) {
  if (GetParam() != kAuto) {
    EXPECT_EQ(resolve_engine(GetParam(), "echo"), GetParam());
  }
}

TEST_P(EachEngine, KnowsNoShaderThatThereIsNot) {
  EXPECT_EQ(create_engine(GetParam())->find_shader("no such shader"), nullptr);
}

TEST_P(EachEngine, HasNothingToGiveBackBeforeItWasGivenAnything) {
  const auto engine = create_engine(GetParam());
  EXPECT_EQ(engine->open_queue()->poll(), nullptr);
}

PENUMBRA_FOR_EACH_ENGINE(EachEngine);

struct View {
  std::uint64_t factor;
  const std::uint8_t* table;
};

void mixed_columns(View view, const std::uint32_t* a, std::uint16_t* sum, const std::uint8_t* b, std::uint64_t* product,
                   std::uint32_t n) {
  foreach (i, n) {
    sum[i] = static_cast<std::uint16_t>(a[i] + b[i]);
    product[i] = view.factor * a[i];
  }
}

void with_payload(View view, const std::uint8_t* key, penumbra_source source, std::uint32_t* sum,
                  penumbra_destination destination, const std::uint32_t* factor, std::uint32_t n) {
  foreach (i, n) {
    const std::uint8_t* const from = source.bytes + source.position[i];
    std::uint8_t* const to = destination.bytes + destination.position[i];
    sum[i] = 0;
    for (std::uint32_t k = 0; k < source.length[i]; ++k) sum[i] += factor[i] * from[k];
    destination.length[i] = std::min(source.length[i], destination.room[i]);
    for (std::uint32_t k = 0; k < destination.length[i]; ++k) to[k] = from[k] ^ view.table[key[i]];
  }
}

/// Has only outputs between `view` and `n`; all are uint32_t, which differs from `n` only in being a pointer.
void only_outputs(View view, std::uint32_t* out, std::uint32_t n) {
  foreach (i, n) out[i] = static_cast<std::uint32_t>(view.factor) + i;
}

TEST(ShaderEntry, DescribesTheColumnsOfEachDirectionInOrder) {
  const Shader shader = ShaderEntry<&mixed_columns>::describe("mixed");
  EXPECT_EQ(shader.name, "mixed");
  EXPECT_EQ(shader.view_bytes, sizeof(View));
  EXPECT_THAT(shader.input_bytes, ElementsAre(4, 1));
  EXPECT_THAT(shader.output_bytes, ElementsAre(2, 8));
  EXPECT_FALSE(shader.has_payload());
}

TEST(ShaderEntry, DescribesTheColumnsOfPayloadAmongTheOthers) {
  const Shader shader = ShaderEntry<&with_payload>::describe("payload");
  EXPECT_THAT(shader.input_bytes, ElementsAre(1, 8, 4, 8, 4, 4));
  EXPECT_THAT(shader.output_bytes, ElementsAre(4, 4));
  ASSERT_TRUE(shader.source && shader.destination);
  EXPECT_EQ(shader.source->positions, 1U);
  EXPECT_EQ(shader.destination->positions, 3U);
  EXPECT_EQ(shader.destination->lengths, 1U);
}

TEST(ShaderEntry, CallsWithColumnsWhereTheSignatureHasThem) {
  const View view{3, nullptr};
  const std::vector<std::uint32_t> a{1, 20, 70'000};
  const std::vector<std::uint8_t> b{4, 5, 6};
  std::vector<std::uint16_t> sum(4, 7);
  std::vector<std::uint64_t> product(4, 7);
  Batch batch;
  batch.items = 3;
  batch.inputs = {a.data(), b.data()};
  batch.outputs = {sum.data(), product.data()};
  ShaderEntry<&mixed_columns>::call(&view, batch);
  EXPECT_THAT(sum, ElementsAre(5, 25, 70'006 - 65'536, 7));
  EXPECT_THAT(product, ElementsAre(3, 60, 210'000, 7));
}

TEST(ShaderEntry, CallsWithThePayload) {
  const std::vector<std::uint8_t> masks{0x00, 0xFF}, key{1, 0, 1};
  const View view{0, masks.data()};
  const std::vector<std::uint8_t> from{1, 2, 3, 4, 5};
  std::vector<std::uint8_t> to(5, 0x55);
  const std::vector<std::uint64_t> source{3, 0, 0}, destination{0, 2, 4};
  const std::vector<std::uint32_t> length{2, 5, 2}, room{2, 2, 1}, factor{1, 1, 10};
  std::vector<std::uint32_t> sum(3), written(3);
  Batch batch;
  batch.items = 3;
  batch.inputs = {key.data(), source.data(), length.data(), destination.data(), room.data(), factor.data()};
  batch.outputs = {sum.data(), written.data()};
  batch.source = reinterpret_cast<const std::byte*>(from.data());
  batch.destination = reinterpret_cast<std::byte*>(to.data());
  ShaderEntry<&with_payload>::call(&view, batch);
  EXPECT_THAT(sum, ElementsAre(9, 15, 30));
  EXPECT_THAT(written, ElementsAre(2, 2, 1));
  EXPECT_THAT(to, ElementsAre(0xFB, 0xFA, 1, 2, 0xFE));
}

TEST(ShaderEntry, TakesTheLastArgumentAloneForTheCount) {
  EXPECT_THAT(ShaderEntry<&only_outputs>::describe("outputs").output_bytes, ElementsAre(4));
  const View view{10, nullptr};
  std::vector<std::uint32_t> out(3);
  Batch batch;
  batch.items = 2;
  batch.outputs = {out.data()};
  ShaderEntry<&only_outputs>::call(&view, batch);
  EXPECT_THAT(out, ElementsAre(10, 11, 0));
}

}  // namespace
}  // namespace penumbra
