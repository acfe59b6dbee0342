// SPDX-License-Identifier: Apache-2.0
//
// Tests the parts of `penumbra-bench run gpu` that need no GPU: the arithmetic of its figures, its teams of threads,
// its bars.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <fstream>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/scratch_folder.h"
#include "gpu/arithmetic.h"
#include "gpu/bars.h"
#include "gpu/core_team.h"
#include "gpu/ipv4_work.h"
#include "gpu/kernels/hashes.shader.h"
#include "loaded_engine.h"
#include "on_engine.h"
#include "permutation.h"
#include "pin.h"

namespace penumbra::bench::gpu {
namespace {

using testing::ElementsAre;

TEST(Shares, AreEvenAndLeaveNothingOut) {
  EXPECT_THAT(shares(10, 4), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(shares(2, 3), ElementsAre(1, 1, 0));
  EXPECT_THAT(shares(7, 1), ElementsAre(7));
}

constexpr std::array<std::uint32_t, 4> kWork{1, 2, 4, 8};

TEST(Crossover, IsWhereTheRatesBeginToStayAhead) {
  const std::array<double, 4> rates{5, 5, 5, 5};
  EXPECT_EQ(crossover(kWork, rates, std::array<double, 4>{9, 6, 4, 2}), 4U);
  EXPECT_EQ(crossover(kWork, rates, std::array<double, 4>{1, 1, 1, 1}), 1U);
  EXPECT_EQ(crossover(kWork, rates, std::array<double, 4>{1, 9, 1, 1}), 4U) << "being ahead once is not enough";
  EXPECT_EQ(crossover(kWork, rates, std::array<double, 4>{1, 1, 1, 5}), 0U) << "as fast is not ahead";
  EXPECT_THROW(crossover(kWork, rates, std::array<double, 3>{1, 1, 1}), std::invalid_argument);
}

TEST(Crossover, IsSaidInWords) {
  const std::vector<RatesByWork> cores{{"1 core", {1, 1, 1, 1}}, {"2 cores", {9, 9, 1, 1}}, {"3 cores", {9, 9, 9, 9}}};
  EXPECT_EQ(describe_crossovers({"the GPU", {5, 5, 5, 5}}, cores, kWork, "hashes"),
            "the GPU is ahead of 1 core from 1 hashes on; 2 cores from 4 hashes on; 3 cores with none");
}

TEST(TeamSizes, AreThoseThatTheMachineHasCoresFor) {
  EXPECT_THAT(team_sizes({2, 4, 8, 16}, 7), ElementsAre(1, 2, 4));
  EXPECT_THAT(team_sizes({4, 3}, 3), ElementsAre(1, 3));
  EXPECT_THAT(team_sizes({4, 4, 1}, 4), ElementsAre(1, 4));
  EXPECT_THAT(team_sizes({}, 8), ElementsAre(1));
}

TEST(RunTeam, RunsEachMemberOnce) {
  std::vector<std::atomic<int>> runs(core_count());
  run_team(core_count(), [&](unsigned member) { ++runs[member]; });
  EXPECT_TRUE(std::ranges::all_of(runs, [](const auto& count) { return count == 1; }));
}

TEST(RunTeam, ThrowsWhatAMemberThrew) {
  EXPECT_THROW(run_team(1, [](unsigned) { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_THROW(run_team(core_count() + 1, [](unsigned) {}), std::exception) << "there is no core for the last";
}

TEST(TeamRate, CountsTheItemsOfAllMembers) {
  std::atomic<std::uint64_t> items{0};
  const double rate = team_rate(core_count(), 0.001, [&](unsigned) {
    items += 1000;
    return 1000;
  });
  EXPECT_GE(items, 1000U * core_count());
  EXPECT_GT(rate, 0);
}

TEST(Permutation, LeadsToEveryNumberOnce) {
  for (const unsigned bits : {4U, 11U, 16U}) {
    const Permutation next(bits, 3);
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < 1U << bits; ++i) seen.insert(next(i));
    EXPECT_EQ(seen.size(), 1U << bits);
    EXPECT_LT(*seen.rbegin(), 1U << bits);
    EXPECT_EQ(next.follow(5, 3), next(next(next(5))));
    EXPECT_EQ(next.follow(5, 0), 5U);
  }
}

TEST(Hashes, WaitForEachOther) {
  const std::array<std::uint32_t, 3> words{0, 1, 0xFFFFFFFF};
  std::array<std::uint32_t, 3> found{};
  hashes({0}, words.data(), found.data(), 3);
  EXPECT_EQ(found, words);
  hashes({2}, words.data(), found.data(), 3);
  for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(found[i], hashes_of_word(hashes_of_word(words[i])));
  std::set<std::uint32_t> seen;
  for (std::uint32_t word = 0; word < 100'000; ++word) seen.insert(hashes_of_word(word));
  EXPECT_GT(seen.size(), 99'990U) << "of so many 32-bit hashes about one pair is equal by chance";
}

/// An engine queue that takes batches, refuses every third and returns them later.
class LateQueue final : public EngineQueue {
 public:
  LateQueue(std::unique_ptr<EngineQueue> queue, std::uint64_t& batches) : queue_(std::move(queue)), batches_(batches) {}
  Submitted submit(Batch& batch) noexcept override {
    if (++calls_ % 3 == 0) return Submitted::full;
    queue_->submit(batch);
    ++batches_;
    late_.push_back(&batch);
    return Submitted::queued;
  }
  Batch* poll() noexcept override {
    if (late_.empty() || ++calls_ % 2 == 0) return nullptr;
    Batch* const batch = late_.front();
    late_.pop_front();
    return batch;
  }

 private:
  std::unique_ptr<EngineQueue> queue_;
  std::uint64_t& batches_;
  std::deque<Batch*> late_;
  unsigned calls_ = 0;
};
class LateEngine final : public Engine {
 public:
  explicit LateEngine(Engine& engine) : engine_(engine) {}
  const Shader* find_shader(const std::string& name) const override { return engine_.find_shader(name); }
  void use_table(Table& table) override { engine_.use_table(table); }
  std::unique_ptr<EngineQueue> open_queue() override {
    return std::make_unique<LateQueue>(engine_.open_queue(), batches_);
  }
  /// Returns the number of batches that the queues have taken.
  std::uint64_t batches() const { return batches_; }

 private:
  Engine& engine_;
  std::uint64_t batches_ = 0;
};

class Lookups : public testing::Test {
 protected:
  static constexpr std::size_t kFewAddresses = 1U << 16;

  Lookups() {
    const ScratchFolder folder;
    Options options;
    options.routes = folder / "routes.txt";
    std::ofstream(*options.routes) << "10.0.0.0/8 via 192.0.2.1 dev a\ndefault via 192.0.2.2 dev b\n";
    work_ = std::make_unique<Ipv4Work>(options, kFewAddresses);
    opened_ = open_engine("scalar", *work_);
  }
  std::unique_ptr<Ipv4Work> work_;
  OpenedEngine opened_;
};

TEST_F(Lookups, AreCheckedHoweverAnEngineTakesThem) {
  LateEngine late(*opened_.engine);
  for (Engine* engine : {opened_.engine.get(), static_cast<Engine*>(&late)}) {
    LookupStream stream(*engine, *work_, 48, 7, 15);
    stream.check(2 * kFewAddresses / 48, 7);
    stream.run(1000, 1);
    const LookupStream::Counted first = stream.count_over(0, 7);
    EXPECT_GE(first.batches, 1U) << "one counts, however long it takes";
    EXPECT_GT(first.seconds, 0);
    std::vector<std::uint16_t> right = work_->right;
    for (std::uint16_t& each : work_->right) ++each;
    EXPECT_THROW(stream.check(1, 1), WrongAnswer);
    work_->right = right;
  }
}

TEST_F(Lookups, AreCountedThatAreBackInTime) {
  constexpr std::uint32_t kInFlight = 7;
  LateEngine late(*opened_.engine);
  LookupStream stream(late, *work_, 48, kInFlight, 15);
  const double begin = now();
  const LookupStream::Counted counted = stream.count_over(0.01, kInFlight);
  EXPECT_GT(counted.seconds, 0.0099);  // The value is the rounded difference of two sums of times since the start.
  EXPECT_LE(counted.seconds, now() - begin);
  EXPECT_LE(counted.batches, late.batches());
  EXPECT_GE(counted.batches + std::uint64_t{2} * kInFlight, late.batches())
      << "those in the last turn and in flight do not count";
}

TEST_F(Lookups, AreCheckedUnderLoad) {
  Report report("load", true);
  const auto loaded = load_engine("scalar", 1, *work_, report);
  ASSERT_NE(loaded, nullptr);
  EXPECT_GT(loaded->rate_of(1), 0);
  work_->right.back() ^= 1;
  EXPECT_THROW(loaded->only().check(LoadedWorker::kNoLimit), WrongAnswer) << "one of all answers";
  EXPECT_EQ(load_engine("no-such-engine", 1, *work_, report), nullptr);
}

TEST(LostGpu, EndsABenchmarkButIsNoWrongAnswer) {
  EXPECT_NO_THROW(require_gpu("cuda", "GPU 0: 12 batches in 3 launches"));
  try {
    require_gpu("cuda", "2 batches came back from a lost GPU, for the CPU");
    FAIL() << "it was lost";
  } catch (const WrongAnswer&) {
    FAIL() << "then what was found before would be dropped";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cuda lost its GPU"));
  }
  EXPECT_THROW(require_gpu("cuda", "GPU 0: lost: there is none; shaders run on the CPU"), std::runtime_error);
}

TEST_F(Lookups, NameAnEngineThatIsNotHere) {
  EXPECT_THAT(open_engine("no-such-engine", *work_).why_not, testing::HasSubstr("no-such-engine"));
  EXPECT_THAT(open_engine("scalar,no-such-setting=1", *work_).why_not, testing::HasSubstr("no-such-setting"));
}

TEST(Bars, KnowWhichSideIsMet) {
  Report report("gpu", true);
  kCudaRate.tell(report, 0.86);
  kResidentMedian.tell(report, 3.6);
  EXPECT_TRUE(report.json()["bars"][0]["met"].get<bool>());
  EXPECT_FALSE(report.json()["bars"][1]["met"].get<bool>());
}

}  // namespace
}  // namespace penumbra::bench::gpu
