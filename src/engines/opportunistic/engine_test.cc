// SPDX-License-Identifier: Apache-2.0
//
// Tests `auto` with members that take a known time.
#include "opportunistic/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engines/conformance.h"
#include "opportunistic/load_choice.h"
#include "opportunistic/timed_world_test.h"

namespace penumbra::opportunistic {
namespace {

using conformance::ShaderQueue;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr Timing kCpu{.of_item = 10, .of_batch = 20};
constexpr Timing kSlowCpu{.of_item = 20, .of_batch = 20};
constexpr Timing kGpu{.is_synchronous = false, .of_item = 1, .of_batch = 50, .latency = 3000, .period = 100};
constexpr Timing kFarGpu{.is_synchronous = false, .of_item = 1, .of_batch = 60, .latency = 120'000, .period = 250};

/// Makes `auto` with those of the members cpu, slow, gpu and far that the test names.
class AutoWorld {
 public:
  struct Wanted {
    std::string name;
    Timing timing;
    std::vector<std::string> shaders = {"one", "two"};
  };
  explicit AutoWorld(const std::vector<Wanted>& wanted, std::uint64_t max_delay = 0) {
    table.publish(kView, {});
    std::vector<Member> members;
    for (const Wanted& each : wanted) {
      Seen& its = seen.emplace_back();
      members.push_back(
          {each.name, each.timing.is_synchronous, std::make_unique<TimedEngine>(each.timing, its, each.shaders)});
    }
    engine = std::make_unique<AutoEngine>(std::move(members), max_delay, &test_now);
    engine->use_table(table);
    shader = engine->find_shader("one");
  }
  void expect_and_open() {
    engine->announce(*shader, table);
    queue = engine->open_queue_for(0);
  }
  void calibrate(const std::vector<EngineCalibration>& calibrations = {}) {
    expect_and_open();
    engine->load_calibrations(calibrations);
    for (Seen& each : seen) each.batches = 0;
  }
  std::string notes() const {
    std::string text;
    for (const auto& line : engine->notes()) text += line + "\n";
    return text;
  }

  static constexpr std::uint32_t kView = 0x5A5A1234;
  std::deque<Seen> seen;
  Table table{"numbers"};
  std::unique_ptr<AutoEngine> engine;
  const Shader* shader = nullptr;
  std::unique_ptr<EngineQueue> queue;
};

/// Uses a queue as a worker does: a few batches in flight, answers in order.
class Traffic {
 public:
  Traffic(AutoWorld& world, EngineQueue& queue) : world_(world), queue_(queue), places_(8) {}
  ~Traffic() {
    while (!flying_.empty()) take_back();
  }

  void send(std::uint32_t items, bool has_backlog, const Shader& shader) {
    while (flying_.size() == places_.size()) take_back();
    Place& place = places_[next_++ % places_.size()];
    place.in.resize(items);
    place.out.assign(items, 0);
    for (auto& each : place.in) each = static_cast<std::uint32_t>(random_());
    place.shader = &shader;
    place.batch = {.shader = &shader, .table = &world_.table, .items = items};
    place.batch.inputs = {place.in.data()};
    place.batch.outputs = {place.out.data()};
    place.batch.has_backlog = has_backlog;
    for (;;) {
      const auto answer = queue_.submit(place.batch);
      if (answer == EngineQueue::Submitted::done) {
        EXPECT_TRUE(flying_.empty()) << "it overtook others";
        check(place);
        return;
      }
      if (answer == EngineQueue::Submitted::queued) break;
      ASSERT_FALSE(flying_.empty()) << "full, and nothing is in flight";
      take_back();
    }
    flying_.push_back(&place);
  }
  /// Submits `batches` batches: press() submits full chunks with a backlog, trickle() a few items every microsecond.
  void press(int batches) {
    for (int i = 0; i < batches; ++i) send(64, true, *world_.shader);
  }
  void trickle(int batches) {
    for (int i = 0; i < batches; ++i) {
      send(2, false, *world_.shader);
      poll();
      test_clock += 1000;
    }
  }
  void poll() {
    if (Batch* const batch = queue_.poll(); batch != nullptr) came_back(batch);
  }

 private:
  struct Place {
    Batch batch;
    const Shader* shader = nullptr;
    std::vector<std::uint32_t> in, out;
  };
  void take_back() {
    Batch* batch = nullptr;
    while (batch == nullptr) batch = queue_.poll();
    came_back(batch);
  }
  void came_back(const Batch* batch) {
    ASSERT_FALSE(flying_.empty());
    Place& oldest = *flying_.front();
    flying_.pop_front();
    ASSERT_EQ(batch, &oldest.batch) << "out of order";
    check(oldest);
  }
  static void check(const Place& place) {
    EXPECT_EQ(place.batch.shader, place.shader) << "the batch is the caller's again";
    for (std::size_t i = 0; i < place.in.size(); ++i) ASSERT_EQ(place.out[i], place.in[i] ^ AutoWorld::kView);
  }

  AutoWorld& world_;
  EngineQueue& queue_;
  std::vector<Place> places_;
  std::size_t next_ = 0;
  std::deque<Place*> flying_;
  std::mt19937 random_{11};
};

TEST(Auto, LeavesLightLoadToTheCpuAndHeavyLoadToTheGpu) {
  AutoWorld world({{"cpu", kCpu}, {"gpu", kGpu}});
  world.calibrate();
  Traffic traffic(world, *world.queue);
  traffic.trickle(30 * LoadChoice::kRound);
  EXPECT_EQ(world.seen[0].batches, 30U * LoadChoice::kRound);
  EXPECT_EQ(world.seen[1].batches, 0U);
  traffic.press(1000);
  EXPECT_EQ(world.seen[1].batches, 1000U - 2 * LoadChoice::kRound);
  EXPECT_THAT(world.notes(), HasSubstr("core 0, one: gpu, heavy load, changed 1 times, 1 trials; fell behind at"));
  traffic.press(20'000);
  traffic.trickle(1000);
  const std::uint64_t by_gpu = world.seen[1].batches;
  traffic.trickle(1000);
  EXPECT_EQ(world.seen[1].batches, by_gpu) << "the load has gone";
  EXPECT_THAT(world.notes(), HasSubstr("core 0, one: cpu, light load, changed 2 times"));
}

TEST(Auto, LetsFunctionsFetchAheadWhileTheCpuIsUsed) {
  AutoWorld world({{"cpu", kCpu}, {"gpu", kGpu}});
  world.calibrate();
  Traffic traffic(world, *world.queue);
  EXPECT_TRUE(world.queue->fetches_ahead());
  traffic.press(200);
  EXPECT_FALSE(world.queue->fetches_ahead());
}

TEST(Auto, MeasuresWhatEachMemberCosts) {
  AutoWorld world({{"cpu", kCpu}, {"gpu", kGpu}});
  world.expect_and_open();
  world.engine->load_calibrations({});
  const auto calibrations = world.engine->calibrations();
  ASSERT_THAT(calibrations, SizeIs(1));
  EXPECT_EQ(calibrations[0].shader, "one");
  EXPECT_EQ(calibrations[0].size_class, world.table.size_class());
  ASSERT_THAT(calibrations[0].figures, SizeIs(2 * kCostFigures));
  const auto cpu = costs_of(std::span(calibrations[0].figures).first(kCostFigures));
  const auto gpu = costs_of(std::span(calibrations[0].figures).last(kCostFigures));
  ASSERT_TRUE(cpu && gpu);
  const auto of_cpu = [](std::uint32_t items) { return 20 + 10.0 * items; };
  const auto of_gpu = [](std::uint32_t items) { return 50 + 1.0 * items; };
  EXPECT_DOUBLE_EQ(cpu->few, of_cpu(kFew));
  EXPECT_DOUBLE_EQ(cpu->chunk, of_cpu(kChunk));
  EXPECT_DOUBLE_EQ(cpu->busy, of_cpu(kChunk));
  EXPECT_NEAR(cpu->period, of_cpu(kChunk), 0.01);
  EXPECT_NEAR(gpu->few, of_gpu(kFew) + 3000, TimedQueue::kPoll);
  EXPECT_NEAR(gpu->chunk, of_gpu(kChunk) + 3000, TimedQueue::kPoll);
  EXPECT_NEAR(gpu->busy, of_gpu(kChunk) + TimedQueue::kPoll, 1e-9);
  EXPECT_NEAR(gpu->period, (of_gpu(kChunk) + 3000) / kMostInFlight, 40) << "the latency bounds it";
  EXPECT_THAT(world.engine->notes(),
              AllOf(Contains("one: cpu under light load, tried under heavy load: gpu"),
                    Contains(HasSubstr("one on cpu: 8, 64 items 0.10, 0.66 us alone; 64 items 0.66 us each of many")),
                    Contains(HasSubstr("one on gpu: 8, 64 items 3."))));
}

TEST(Auto, ChoosesByWhatAnEarlierRunMeasured) {
  AutoWorld first({{"cpu", kCpu}, {"gpu", kGpu}});
  first.calibrate();
  AutoWorld second({{"cpu", kCpu}, {"gpu", kGpu}});
  second.expect_and_open();
  second.engine->load_calibrations(first.engine->calibrations());
  EXPECT_EQ(second.seen[0].batches + second.seen[1].batches, 0U) << "nothing was measured";
  EXPECT_THAT(second.engine->calibrations(), IsEmpty());
  EXPECT_THAT(second.notes(), AllOf(HasSubstr("one: cpu under light load, tried under heavy load: gpu"),
                                    HasSubstr("in an earlier run")));
  EXPECT_EQ(second.engine->calibration_key(), first.engine->calibration_key());
}

TEST(Auto, MeasuresAnewWhatAnEarlierRunCannotHaveMeasured) {
  AutoWorld first({{"cpu", kCpu}, {"gpu", kGpu}});
  first.calibrate();
  const auto good = first.engine->calibrations();
  std::vector<std::vector<EngineCalibration>> wrong(5, good);
  wrong[0][0].shader = "two";
  wrong[1][0].size_class += 1;
  wrong[2][0].figures.pop_back();
  wrong[3][0].figures.assign(2 * kCostFigures, 0);
  wrong[4][0].figures[3] = -1;
  for (const auto& calibrations : wrong) {
    AutoWorld second({{"cpu", kCpu}, {"gpu", kGpu}});
    second.expect_and_open();
    second.engine->load_calibrations(calibrations);
    EXPECT_GT(second.seen[0].batches, 0U);
    EXPECT_THAT(second.engine->calibrations(), SizeIs(1));
  }
}

TEST(Auto, NamesItsMembersTheirConditionsAndTheWorkers) {
  AutoWorld world({{"cpu", kCpu}, {"gpu", kGpu}});
  const auto one = world.engine->open_queue_for(0), same = world.engine->open_queue_for(0),
             other = world.engine->open_queue_for(3);
  EXPECT_EQ(world.engine->calibration_key(), "cpu on a clock, gpu on a clock, 2 workers");
  ASSERT_THAT(world.engine->members(), SizeIs(2));
  EXPECT_EQ(world.engine->members()[1].first, "gpu");
}

TEST(Auto, TellsMembersOfTheTableAndOfTheirOwnShader) {
  AutoWorld world({{"cpu", kCpu}, {"gpu", kGpu, {"two"}}});
  world.engine->announce(*world.shader, world.table);
  EXPECT_THAT(world.seen[0].told, ElementsAre("uses numbers", "expects one on numbers"));
  EXPECT_THAT(world.seen[1].told, ElementsAre("uses numbers"));
}

TEST(Auto, OfSeveralTakesTheBestForEachLoadAndLetsTheOthersGo) {
  AutoWorld world({{"cpu", kCpu}, {"slow", kSlowCpu}, {"far", kFarGpu}, {"gpu", kGpu}});
  world.calibrate();
  EXPECT_EQ(world.seen[2].queues, 0U) << "a queue may hold a part of the GPU";
  EXPECT_EQ(world.seen[3].queues, 1U);
  Traffic traffic(world, *world.queue);
  traffic.press(200);
  EXPECT_EQ(world.seen[1].batches, 0U) << "the slower of two that answer at once";
  EXPECT_GT(world.seen[3].batches, 100U);
  traffic.send(5, false, *world.engine->find_shader("two"));
}

TEST(Auto, UsesNoGpuThatIsFarFromAsFast) {
  constexpr Timing kPoorGpu{.is_synchronous = false, .of_item = 60, .of_batch = 50, .latency = 3000, .period = 100};
  AutoWorld world({{"cpu", kCpu}, {"gpu", kPoorGpu}});
  world.calibrate();
  Traffic traffic(world, *world.queue);
  traffic.press(10'000);
  EXPECT_EQ(world.seen[1].batches, 0U);
  EXPECT_THAT(world.engine->notes(), Contains("one: cpu"));
}

TEST(Auto, UsesAGpuAlwaysIfThatAnswersSooner) {
  constexpr Timing kHeavyCpu{.of_item = 5000};
  AutoWorld world({{"cpu", kHeavyCpu}, {"gpu", kGpu}});
  world.calibrate();
  Traffic traffic(world, *world.queue);
  traffic.trickle(10);
  traffic.press(100);
  EXPECT_EQ(world.seen[1].batches, 110U);
}

/// One worker finds no free queue into the GPU; another finds none into the other engines either.
TEST(Auto, FallsBackOnTheCpuWhereTheGpuIsTakenForEverything) {
  constexpr Timing kHeavyCpu{.of_item = 5000};
  Timing scarce = kGpu;
  scarce.queues = 1;
  AutoWorld world({{"cpu", kHeavyCpu}, {"gpu", scarce}});
  world.expect_and_open();
  const auto second = world.engine->open_queue_for(1);
  world.engine->load_calibrations({});
  for (Seen& each : world.seen) each.batches = 0;
  Traffic traffic(world, *second);
  traffic.trickle(10);
  traffic.press(100);
  EXPECT_EQ(world.seen[0].batches, 110U);
  AutoWorld alone({{"gpu", scarce}});
  alone.expect_and_open();
  EXPECT_THROW(alone.engine->open_queue_for(1), std::runtime_error);
}

TEST(Auto, MeasuresWhatCanBeMeasuredBesideWhatCannot) {
  AutoWorld world({{"cpu", kCpu}, {"gpu", kGpu}});
  Table empty{"nothing yet"};
  world.engine->use_table(empty);
  world.engine->announce(*world.engine->find_shader("two"), empty);
  world.calibrate();
  EXPECT_THAT(world.engine->calibrations(), SizeIs(1));
  EXPECT_THAT(world.notes(), HasSubstr("two: cpu under light load, tried under heavy load: gpu"));
}

TEST(Auto, KeepsWithinTheDelayThatItWasTold) {
  for (const std::uint64_t max_delay : {3000, 4000}) {
    AutoWorld world({{"cpu", kCpu}, {"gpu", kGpu}}, max_delay);
    world.calibrate();
    Traffic traffic(world, *world.queue);
    traffic.press(1000);
    EXPECT_EQ(world.seen[1].batches > 0, max_delay == 4000) << max_delay;
  }
}

TEST(Auto, DoesWithoutAMemberThatHasNoQueueLeft) {
  Timing scarce = kGpu;
  scarce.queues = 1;
  AutoWorld world({{"cpu", kCpu}, {"gpu", scarce}});
  world.expect_and_open();
  const auto second = world.engine->open_queue_for(1);
  world.engine->load_calibrations({});
  EXPECT_THAT(world.engine->notes(), Contains("gpu: not for every worker: no queue is left"));
  for (EngineQueue* queue : {world.queue.get(), second.get()}) {
    const std::uint64_t before = world.seen[1].batches;
    Traffic traffic(world, *queue);
    traffic.press(1000);
    EXPECT_EQ(world.seen[1].batches > before, queue == world.queue.get());
  }
}

TEST(Auto, WithOneMemberIsThatMember) {
  for (const Timing& timing : {kCpu, kGpu}) {
    AutoWorld world({{"only", timing}});
    world.calibrate();
    Traffic traffic(world, *world.queue);
    traffic.trickle(100);
    traffic.press(1000);
    EXPECT_EQ(world.seen[0].batches, 1100U);
  }
}

TEST(Auto, MeasuresAGpuWhenItIsReady) {
  Timing late = kGpu;
  late.by_core = 1000;
  AutoWorld ready({{"cpu", kCpu}, {"gpu", kGpu}}), world({{"cpu", kCpu}, {"gpu", late}});
  ready.calibrate();
  world.calibrate();
  ASSERT_THAT(world.engine->calibrations(), SizeIs(1));
  EXPECT_EQ(world.engine->calibrations()[0].figures, ready.engine->calibrations().at(0).figures);
}

TEST(Auto, TriesAGpuThatCouldNotBeMeasured) {
  Timing late = kGpu;
  late.by_core = 100'000'000;
  AutoWorld world({{"cpu", kCpu}, {"gpu", kGpu}, {"late", late}});
  world.calibrate();
  EXPECT_THAT(world.notes(), HasSubstr("one: cpu under light load, tried under heavy load: gpu, late\n"));
  EXPECT_THAT(world.notes(), Not(HasSubstr("one on late")));
  const auto calibrations = world.engine->calibrations();
  ASSERT_THAT(calibrations, SizeIs(1));
  EXPECT_FALSE(costs_of(std::span(calibrations[0].figures).last(kCostFigures)));
  Traffic traffic(world, *world.queue);
  traffic.press(1000);
  EXPECT_GT(world.seen[2].batches, 0U);
}

/// Measurements are off by up to 30%, and about the same for all members.
TEST(Auto, FindsTheBestOfSeveralGpusWhateverWasMeasured) {
  const auto gpu_of = [](std::uint64_t of_item) {
    return Timing{.is_synchronous = false, .of_item = of_item, .of_batch = 50, .latency = 800, .period = 50};
  };
  const std::array<Timing, 4> timings{kCpu, gpu_of(4), gpu_of(1), gpu_of(2)};
  for (const auto& measured : std::vector<std::array<double, 4>>{
           {4600, 3220, 5980, 4600}, {4600, 4000, 4080, 4160}, {4600, 4160, 4080, 4000}, {3220, 4600, 5980, 3220}}) {
    AutoWorld world({{"cpu", kCpu}, {"a", timings[1]}, {"b", timings[2]}, {"c", timings[3]}});
    world.expect_and_open();
    EngineCalibration calibration{.shader = "one", .size_class = world.table.size_class(), .value = 1, .gain = 1};
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const double few = i == 0 ? 100 : 3000, period = measured.at(i);
      calibration.figures.insert(calibration.figures.end(), {few, 4000, period - 2000, period});
    }
    world.engine->load_calibrations({calibration});
    Traffic traffic(world, *world.queue);
    traffic.press(1000);
    for (const Seen& each : world.seen) EXPECT_GT(each.batches, 0U) << "each has its trial";
    const std::uint64_t before = world.seen[2].batches;
    traffic.press(100'000);
    EXPECT_GE(world.seen[2].batches - before, 98'000U);
    EXPECT_THAT(world.notes(), HasSubstr("core 0, one: b, heavy load"));
  }
}

TEST(Auto, FindsTheBestGpuOfWhatWasNotMeasured) {
  Timing slower = kGpu;
  slower.of_item = 3;
  AutoWorld world({{"cpu", kCpu}, {"slower", slower}, {"gpu", kGpu}});
  world.queue = world.engine->open_queue();
  Traffic traffic(world, *world.queue);
  traffic.press(2000);
  EXPECT_THAT(world.notes(), HasSubstr("one: gpu, heavy load"));
}

TEST(Auto, KeepsTheSizeClassOfTheMeasuring) {
  AutoWorld world({{"cpu", kCpu}, {"gpu", kGpu}});
  world.calibrate();
  const unsigned then = world.table.size_class();
  std::vector<std::byte> more(std::size_t{1} << 20);
  world.table.publish(AutoWorld::kView, {{.data = more.data(), .bytes = more.size()}});
  ASSERT_NE(world.table.size_class(), then);
  EXPECT_EQ(world.engine->calibrations().at(0).size_class, then);
}

/// Also runs without a calibration, as a program does that makes only a few look-ups.
TEST(Auto, KeepsTheOrderWhateverComes) {
  std::mt19937 random(1);
  for (const bool calibrates : {false, true}) {
    AutoWorld world({{"cpu", kCpu}, {"gpu", kGpu}, {"far", kFarGpu, {"two"}}});
    if (calibrates) {
      world.calibrate();
    } else {
      world.queue = world.engine->open_queue();
    }
    Traffic traffic(world, *world.queue);
    const std::array<const Shader*, 2> shaders{world.shader, world.engine->find_shader("two")};
    for (int i = 0; i < 300; ++i) {
      const bool has_backlog = random() % 2 == 0, is_mixed = random() % 4 == 0;
      const auto batches = 1 + random() % 200;
      for (std::uint64_t j = 0; j < batches; ++j) {
        const Shader& shader = *shaders.at(is_mixed ? random() % 2 : 0);
        traffic.send(static_cast<std::uint32_t>(has_backlog ? 64 : 1 + random() % 64), has_backlog, shader);
        if (random() % 3 == 0) traffic.poll();
        if (!has_backlog) test_clock += random() % 5000;
      }
      if (random() % 10 == 0) test_clock += 2 * LoadChoice::kGap;
    }
    EXPECT_GT(world.seen[0].batches, 1000U);
    EXPECT_GT(world.seen[1].batches, 1000U);
  }
}

TEST(Auto, AnswersABatchOfAnySizeInTheConformanceTestsWay) {
  AutoWorld world({{"cpu", kCpu}, {"gpu", kGpu}});
  ShaderQueue queue(*world.engine, *world.shader, world.table);
  for (const std::uint32_t size : conformance::kBatchSizes) {
    std::vector<std::uint32_t> in(20'000), out(in.size());
    std::iota(in.begin(), in.end(), 1U);
    queue({in.data()}, {out.data()}, in.size(), size);
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i] ^ AutoWorld::kView);
  }
  EXPECT_GT(world.seen[1].batches, 0U);
}

}  // namespace
}  // namespace penumbra::opportunistic
