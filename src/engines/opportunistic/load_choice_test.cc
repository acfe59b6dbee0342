// SPDX-License-Identifier: Apache-2.0
//
// Tests LoadChoice with a simulated worker, which takes up to 64 waiting items and needs a known time for them.
#include "opportunistic/load_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace penumbra::opportunistic {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000;

/// Worker time in nanoseconds: of a chunk, and of an item outside the engine.
constexpr double kChunk = 300, kItem = 30;
constexpr double kMost = 64;

/// Returns the items per nanosecond of a worker whose engine takes `engine` nanoseconds per item.
double capacity(double engine) {
  return kMost / (kChunk + kMost * (kItem + engine));
}

class World {
 public:
  /// `engines` has the nanoseconds per item of each way, way 0 first.
  explicit World(const std::vector<double>& engines, std::uint64_t max_delay = 0)
      : engines_(engines), choice_(engines.size(), max_delay) {
    choice_.begin(engines.size());
  }
  World(double light, double heavy, std::uint64_t max_delay = 0) : World({light, heavy}, max_delay) {}
  /// Returns a world in which chunks take up to half as long again and another program sometimes has the core.
  static World unsteady(double light, double heavy) {
    World world(light, heavy);
    world.is_unsteady_ = true;
    return world;
  }

  /// Lets `arrivals` items arrive per nanosecond, for `duration` nanoseconds.
  void run(double arrivals, std::uint64_t duration) {
    constexpr double kRing = 4096;
    const double end = now_ + static_cast<double>(duration);
    while (now_ < end) {
      const auto items = static_cast<std::uint32_t>(std::min(waiting_, kMost));
      const double before = now_;
      if (items == 0) {
        now_ += 100;
      } else {
        const std::size_t way = choice_.way();
        choice_.took(items, items == kMost, static_cast<std::uint64_t>(now_));
        if (choice_.way() != way) ++changes_;
        if (way != 0) choice_.came_back(delay);
        now_ += (kChunk + items * (kItem + engines_[way])) * disturbance();
        done_ += items;
        if (way != 0) heavy_done_ += items;
      }
      waiting_ = std::min(waiting_ - items + arrivals * (now_ - before), kRing);
    }
  }
  /// Statistics since the last reset().
  double rate() const { return done_ / (now_ - begin_); }
  double heavy_share() const { return done_ > 0 ? heavy_done_ / done_ : 0; }
  int changes() const { return changes_; }
  void reset() {
    begin_ = now_;
    done_ = heavy_done_ = 0;
    changes_ = 0;
  }
  void set(std::size_t way, double engine) { engines_[way] = engine; }
  const LoadChoice& choice() const { return choice_; }

  std::uint64_t delay = 5000;  ///< Delay of a batch under heavy load, ns.

 private:
  double disturbance() {
    if (!is_unsteady_) return 1;
    return random_() % 4000 == 0 ? 100 : std::uniform_real_distribution(1.0, 1.5)(random_);
  }

  bool is_unsteady_ = false;
  std::mt19937 random_{3};
  std::vector<double> engines_;
  LoadChoice choice_;
  double now_ = 1e9, begin_ = 1e9, waiting_ = 0, done_ = 0, heavy_done_ = 0;
  int changes_ = 0;
};

TEST(LoadChoice, GetsNearlyAsMuchDoneAsTheBetterEngineAtEveryLoad) {
  constexpr double kLight = 20;
  for (const double heavy : {1.0, 10.0, 18.0, 20.0, 22.0, 40.0, 400.0}) {
    for (const double load : {0.1, 0.5, 0.7, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.5, 3.0}) {
      World world(kLight, heavy);
      const double arrivals = load * capacity(kLight);
      world.run(arrivals, 2 * kSecond);
      const double best = std::min(arrivals, std::max(capacity(kLight), capacity(heavy)));
      EXPECT_GE(world.rate(), 0.98 * best) << "engines of 20 and " << heavy << " ns, load " << load;
      EXPECT_LE(world.rate(), 1.001 * best) << "the world itself is wrong";
    }
  }
}

TEST(LoadChoice, DoesSoWhereTimesVary) {
  for (const double heavy : {10.0, 18.0, 20.0, 22.0, 40.0}) {
    World better = World::unsteady(std::min(20.0, heavy), std::min(20.0, heavy)), world = World::unsteady(20, heavy);
    better.run(1, kSecond);
    world.run(1, kSecond);
    EXPECT_GE(world.rate(), 0.95 * better.rate()) << heavy;
  }
}

TEST(LoadChoice, LeavesItToTheCpuAsLongAsThatKeepsUp) {
  for (const double load : {0.01, 0.3, 0.6, 0.9}) {
    World world(20, 1);
    world.run(load * capacity(20), kSecond);
    EXPECT_EQ(world.changes(), 0) << load;
  }
}

TEST(LoadChoice, ChangesSeldomUnderConstantLoad) {
  for (const double load : {0.75, 0.85, 0.95, 1.0, 1.05, 1.5}) {
    World world(20, 1);
    world.run(1.5 * capacity(20), 100 * kMillisecond);
    EXPECT_EQ(world.choice().way(), 1U);
    world.reset();
    world.run(load * capacity(20), kSecond);
    EXPECT_LE(world.changes(), 2 * 6) << load << ": after 20, 40, 80, 160, 320, 640 ms";
  }
}

TEST(LoadChoice, StaysWithTheAcceleratorWhereTheCpuWouldHardlyKeepUp) {
  World world(20, 1);
  world.run(1.2 * capacity(20), LoadChoice::kLook / 2);
  world.reset();
  world.run(0.9 * capacity(20), LoadChoice::kLook / 4);
  EXPECT_EQ(world.heavy_share(), 1);
  world.run(0.7 * capacity(20), LoadChoice::kLook / 4);
  EXPECT_EQ(world.choice().way(), 0U);
}

TEST(LoadChoice, LooksNowAndThenWhatTheCpuDoesByNow) {
  World world(20, 1);
  world.run(1.2 * capacity(20), 100 * kMillisecond);
  world.reset();
  world.run(1.2 * capacity(20), 30 * kSecond);
  EXPECT_GE(world.changes(), 2 * 3) << "every 10 s";
  EXPECT_LE(world.changes(), 2 * 12);
  EXPECT_GE(world.heavy_share(), 0.999);
}

/// The first rounds of the CPU are slow in a process that has just started.
TEST(LoadChoice, DoesNotHoldTheFirstRoundsAgainstTheCpu) {
  constexpr double kCold = 80, kWarm = 20, kAccelerator = 35;
  for (const double load : {1.5, 0.8}) {
    World world(kCold, kAccelerator);
    world.run(load * capacity(kWarm), 300'000);
    world.set(0, kWarm);
    world.run(load * capacity(kWarm), kMillisecond);
    EXPECT_EQ(world.choice().way(), 1U) << load << ": it was better than what had been seen";
    world.run(load * capacity(kWarm), 20 * kMillisecond);
    EXPECT_EQ(world.choice().way(), 0U) << load;
    world.reset();
    world.run(load * capacity(kWarm), 400 * kMillisecond);
    EXPECT_GE(world.rate(), 0.98 * std::min(load, 1.0) * capacity(kWarm)) << load;
  }
}

TEST(LoadChoice, FindsTheBestOfAllEnginesWhateverTheirOrder) {
  std::array<double, 4> engines{40, 50, 20, 30};
  std::ranges::sort(engines);
  do {
    World world(std::vector<double>(engines.begin(), engines.end()));
    const auto best = static_cast<std::size_t>(std::ranges::min_element(engines) - engines.begin());
    world.run(1, 20 * kMillisecond);
    EXPECT_EQ(world.choice().way(), best);
    world.reset();
    world.run(1, kSecond);
    EXPECT_GE(world.rate(), 0.97 * capacity(20));
  } while (std::ranges::next_permutation(engines).found);
}

TEST(LoadChoice, FindsTheBestAgainAfterEachBecameAnother) {
  World world(std::vector<double>{20, 30, 40});
  world.run(1, 100 * kMillisecond);
  EXPECT_EQ(world.choice().way(), 0U);
  world.set(2, 10);
  world.run(1, kSecond);
  EXPECT_EQ(world.choice().way(), 2U);
  world.set(1, 5);
  world.run(1, 2 * kSecond);
  EXPECT_EQ(world.choice().way(), 1U);
}

TEST(LoadChoice, GetsNearlyAsMuchDoneAsTheBestEngineWhateverTheLoadDoes) {
  for (const auto& engines : std::vector<std::vector<double>>{{20, 10}, {20, 18, 22}, {20, 40, 10}, {10, 20, 30}}) {
    World world(engines), best(std::vector<double>{std::ranges::min(engines)});
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
      const double load = std::uniform_real_distribution(0.2, 1.6)(random) * capacity(20);
      const std::uint64_t duration = std::uniform_int_distribution<std::uint64_t>(1, 20)(random) * kMillisecond;
      world.run(load, duration);
      best.run(load, duration);
    }
    EXPECT_GE(world.rate(), 0.98 * best.rate()) << engines.size() << " engines, the second of " << engines[1] << " ns";
  }
}

TEST(LoadChoice, TriesLessAndLessOftenWhatDoesNotHelp) {
  World world(20, 30);
  world.run(2 * capacity(20), 100 * kSecond);
  EXPECT_GE(world.changes(), 2 * 12) << "after 10 ms, 20 ms, 40 ms ... 10 s";
  EXPECT_LE(world.changes(), 2 * 22);
  EXPECT_LE(world.heavy_share(), 1e-3);
  EXPECT_GE(world.choice().trials(), 12U);
}

TEST(LoadChoice, ComesBackFromAnAcceleratorThatIsLost) {
  World world(20, 1);
  world.run(1.5 * capacity(20), 100 * kMillisecond);
  world.set(1, 25);
  world.reset();
  world.run(1.5 * capacity(20), 500 * kMillisecond);
  EXPECT_EQ(world.choice().way(), 0U);
  EXPECT_LE(world.heavy_share(), 0.02);
  world.set(1, 1);
  world.run(1.5 * capacity(20), 2 * kSecond);
  EXPECT_EQ(world.choice().way(), 1U) << "it is there again";
}

TEST(LoadChoice, TakesAGapForTheEndOfTheLoad) {
  World world(20, 1);
  world.run(1.5 * capacity(20), 10 * kMillisecond);
  EXPECT_EQ(world.choice().way(), 1U);
  world.run(0, LoadChoice::kGap + 1000 * kMillisecond);
  world.reset();
  world.run(1e-6, 10 * kMillisecond);
  EXPECT_EQ(world.choice().way(), 0U);
  EXPECT_EQ(world.changes(), 1);
}

TEST(LoadChoice, DoesNotTakeAnEngineThatIsFullForAGap) {
  LoadChoice choice(2, 0);
  choice.begin(2);
  std::uint64_t now = 1;
  const auto press = [&](std::uint32_t batches, std::uint64_t apart) {
    for (std::uint32_t i = 0; i < batches; ++i) choice.took(64, true, now += apart);
  };
  press(LoadChoice::kRounds * LoadChoice::kRound, 1000);
  ASSERT_EQ(choice.way(), 1U);
  for (int i = 0; i < 100; ++i) {
    for (std::uint64_t waited = 0; waited < 2 * LoadChoice::kGap; waited += LoadChoice::kGap / 2) {
      choice.waits(now += LoadChoice::kGap / 2);
    }
    press(1, 1);
    ASSERT_EQ(choice.way(), 1U) << i;
  }
}

TEST(LoadChoice, DoesNotUseWhatTakesTooLong) {
  World patient(20, 1, 5000), hasty(20, 1, 4999);
  patient.run(1.5 * capacity(20), kSecond);
  hasty.run(1.5 * capacity(20), kSecond);
  EXPECT_GE(patient.heavy_share(), 0.99);
  EXPECT_LE(hasty.heavy_share(), 1e-2);
  EXPECT_GE(hasty.choice().trials(), 1U);
}

}  // namespace
}  // namespace penumbra::opportunistic
