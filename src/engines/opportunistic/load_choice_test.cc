// SPDX-License-Identifier: Apache-2.0
//
// The choice in a world of its own: a worker that takes what has come, 64 items at most, and needs a known time for it.
#include "opportunistic/load_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace penumbra::opportunistic {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000;

/// What a worker needs, in nanoseconds: of a chunk, and of an item beside the engine.
constexpr double kChunk = 300, kItem = 30;
constexpr double kMost = 64;

/// Items a nanosecond when each takes the engine so long.
double capacity(double engine) {
  return kMost / (kChunk + kMost * (kItem + engine));
}

class World {
 public:
  World(double light, double heavy, std::uint64_t max_delay = 0) : light_(light), heavy_(heavy), choice_(max_delay) {}
  /// One in which chunks take up to half as long again, and sometimes another program has the core.
  static World unsteady(double light, double heavy) {
    World world(light, heavy);
    world.is_unsteady_ = true;
    return world;
  }

  /// So many items come a nanosecond, for so long.
  void run(double arrivals, std::uint64_t duration) {
    constexpr double kRing = 4096;
    const double end = now_ + static_cast<double>(duration);
    while (now_ < end) {
      const auto items = static_cast<std::uint32_t>(std::min(waiting_, kMost));
      const double before = now_;
      if (items == 0) {
        now_ += 100;
      } else {
        const bool was_heavy = choice_.is_heavy();
        choice_.took(items, items == kMost, static_cast<std::uint64_t>(now_));
        if (choice_.is_heavy() != was_heavy) ++changes_;
        if (was_heavy) choice_.came_back(delay);
        now_ += (kChunk + items * (kItem + (was_heavy ? heavy_ : light_))) * disturbance();
        done_ += items;
        if (was_heavy) heavy_done_ += items;
      }
      waiting_ = std::min(waiting_ - items + arrivals * (now_ - before), kRing);
    }
  }
  /// Of what was done since the last reset.
  double rate() const { return done_ / (now_ - begin_); }
  double heavy_share() const { return done_ > 0 ? heavy_done_ / done_ : 0; }
  int changes() const { return changes_; }
  void reset() {
    begin_ = now_;
    done_ = heavy_done_ = 0;
    changes_ = 0;
  }
  void set_heavy(double heavy) { heavy_ = heavy; }
  const LoadChoice& choice() const { return choice_; }

  std::uint64_t delay = 5000;  ///< of a batch under heavy load

 private:
  double disturbance() {
    if (!is_unsteady_) return 1;
    return random_() % 4000 == 0 ? 100 : std::uniform_real_distribution(1.0, 1.5)(random_);
  }

  bool is_unsteady_ = false;
  std::mt19937 random_{3};
  double light_, heavy_;
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
    EXPECT_TRUE(world.choice().is_heavy());
    world.reset();
    world.run(load * capacity(20), kSecond);
    EXPECT_LE(world.changes(), 1) << load;
  }
}

TEST(LoadChoice, StaysWithTheAcceleratorWhereTheCpuWouldHardlyKeepUp) {
  World world(20, 1);
  world.run(1.2 * capacity(20), 100 * kMillisecond);
  world.reset();
  world.run(0.9 * capacity(20), kSecond);
  EXPECT_EQ(world.heavy_share(), 1);
  world.run(0.7 * capacity(20), 100 * kMillisecond);
  EXPECT_FALSE(world.choice().is_heavy());
}

TEST(LoadChoice, LooksNowAndThenWhatTheCpuDoesByNow) {
  World world(20, 1);
  world.run(1.2 * capacity(20), 100 * kMillisecond);
  world.reset();
  world.run(1.2 * capacity(20), 3 * LoadChoice::kLook);
  EXPECT_GE(world.changes(), 4);
  EXPECT_LE(world.changes(), 8);
  EXPECT_GE(world.heavy_share(), 0.999);
}

TEST(LoadChoice, TriesLessAndLessOftenWhatDoesNotHelp) {
  World world(20, 30);
  world.run(2 * capacity(20), 100 * kSecond);
  EXPECT_GE(world.changes(), 2 * 5) << "after 1, 2, 4, 8, 16, 32 s";
  EXPECT_LE(world.changes(), 2 * 8);
  EXPECT_LE(world.heavy_share(), 1e-3);
  EXPECT_GE(world.choice().failed(), 5U);
}

TEST(LoadChoice, ComesBackFromAnAcceleratorThatIsLost) {
  World world(20, 1);
  world.run(1.5 * capacity(20), 100 * kMillisecond);
  world.set_heavy(25);
  world.reset();
  world.run(1.5 * capacity(20), 500 * kMillisecond);
  EXPECT_FALSE(world.choice().is_heavy());
  EXPECT_LE(world.heavy_share(), 0.02);
  world.set_heavy(1);
  world.run(1.5 * capacity(20), 2 * kSecond);
  EXPECT_TRUE(world.choice().is_heavy()) << "it is there again";
}

TEST(LoadChoice, TakesAGapForTheEndOfTheLoad) {
  World world(20, 1);
  world.run(1.5 * capacity(20), 10 * kMillisecond);
  EXPECT_TRUE(world.choice().is_heavy());
  world.run(0, LoadChoice::kGap + 1000 * kMillisecond);
  world.reset();
  world.run(1e-6, 10 * kMillisecond);
  EXPECT_FALSE(world.choice().is_heavy());
  EXPECT_EQ(world.changes(), 1);
}

TEST(LoadChoice, DoesNotTakeAnEngineThatIsFullForAGap) {
  LoadChoice choice;
  std::uint64_t now = 1;
  const auto press = [&](std::uint32_t batches, std::uint64_t apart) {
    for (std::uint32_t i = 0; i < batches; ++i) choice.took(64, true, now += apart);
  };
  press(LoadChoice::kRounds * LoadChoice::kRound, 1000);
  ASSERT_TRUE(choice.is_heavy());
  for (int i = 0; i < 100; ++i) {
    for (std::uint64_t waited = 0; waited < 2 * LoadChoice::kGap; waited += LoadChoice::kGap / 2) {
      choice.waits(now += LoadChoice::kGap / 2);
    }
    press(1, 1);
    ASSERT_TRUE(choice.is_heavy()) << i;
  }
}

TEST(LoadChoice, DoesNotUseWhatTakesTooLong) {
  World patient(20, 1, 5000), hasty(20, 1, 4999);
  patient.run(1.5 * capacity(20), kSecond);
  hasty.run(1.5 * capacity(20), kSecond);
  EXPECT_GE(patient.heavy_share(), 0.99);
  EXPECT_LE(hasty.heavy_share(), 1e-2);
  EXPECT_GE(hasty.choice().failed(), 1U);
}

}  // namespace
}  // namespace penumbra::opportunistic
