// SPDX-License-Identifier: Apache-2.0
//
// Tests what benchmarks rely on: the statistics, the oracles and the scripts of changes.
#include "bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "base/scratch_folder.h"
#include "checking_port.h"
#include "churn_script.h"
#include "churn_truth.h"
#include "gpu/core_team.h"
#include "inputs.h"
#include "percentile.h"
#include "process.h"
#include "schedule.h"
#include "testing/message_of.h"

namespace penumbra::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Ipv4Prefix prefix(const char* text) {
  const auto parsed = parse_ipv4_prefix(text);
  if (!parsed) throw std::invalid_argument(text);
  return *parsed;
}
std::uint32_t address(const char* text) {
  const auto parsed = parse_ipv4_address(text);
  if (!parsed) throw std::invalid_argument(text);
  return parsed->value;
}

TEST(Spread, IsTheMedianAndTheExtremes) {
  const Spread odd = spread({3, 1, 2});
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.least, 1);
  EXPECT_EQ(odd.most, 3);
  EXPECT_EQ(spread({4, 1, 2, 3}).median, 2.5);
  EXPECT_THROW(spread({}), std::invalid_argument);
}

TEST(Ratio, IsTakenRoundByRound) {
  EXPECT_THAT(ratio({"a", {2, 9}}, {"b", {1, 3}}).samples, ElementsAre(2, 3));
  EXPECT_THROW(ratio({"a", {1}}, {"b", {1, 2}}), std::invalid_argument);
}

TEST(Interleave, TakesTurnsAndLeavesOutTheFirstRound) {
  std::string order;
  double figure = 0;
  const auto contender = [&](const char* name) {
    return Contender{name, [&order, &figure, name] {
                       order += name;
                       return ++figure;
                     }};
  };
  const auto series = interleave({contender("a"), contender("b")}, 2);
  EXPECT_EQ(order, "ababab");
  EXPECT_THAT(series[0].samples, ElementsAre(3, 5));
  EXPECT_THAT(series[1].samples, ElementsAre(4, 6));
}

TEST(Interleave, MeasuresTheFirstRoundOfWhatBeginsAnew) {
  double figure = 0;
  const auto series = interleave({{"a", [&figure] { return ++figure; }}}, 2, FirstRound::measured);
  EXPECT_THAT(series[0].samples, ElementsAre(1, 2));
}

TEST(Percentile, IsTheLeastSampleThatEnoughAreNotAbove) {
  std::vector<double> samples(100);
  std::iota(samples.rbegin(), samples.rend(), 1);
  EXPECT_EQ(percentile(samples, 0.5), 50);
  EXPECT_EQ(percentile(samples, 0.99), 99);
  EXPECT_EQ(percentile(samples, 1), 100);
  EXPECT_EQ(percentile(samples, 0), 1);
  std::vector<float> one{7}, none;
  EXPECT_EQ(percentile(one, 0.99), 7);
  EXPECT_THROW(percentile(none, 0.5), std::invalid_argument);
}

TEST(Clocks, AgreeOnASecond) {
  const double frequency = time_stamps_per_second();
  // Any amount of time may pass between these readings.
  const double begin = now();
  const std::uint64_t stamp = __builtin_ia32_rdtsc();
  const double inner_begin = now();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double inner_end = now();
  const double seconds = static_cast<double>(__builtin_ia32_rdtsc() - stamp) / frequency;
  const double end = now();
  EXPECT_GT(seconds, 0.99 * (inner_end - inner_begin));
  EXPECT_LT(seconds, 1.01 * (end - begin));
}

TEST(CheckedPackets, SayWhatWentWhereNoneMayGo) {
  CheckedPackets packets([](std::uint16_t port, std::span<const std::uint8_t> frame) { return frame[0] == port; });
  const std::vector<std::uint8_t> of_port_1{1, 0xAB};
  packets.check(1, of_port_1);
  EXPECT_EQ(packets.wrong_in_words(), std::nullopt);
  packets.check(2, of_port_1);
  packets.check(3, of_port_1);
  EXPECT_EQ(packets.checked(), 3U);
  EXPECT_EQ(packets.wrong_in_words(), "2 of 3 packets went where none may go, the first by port 2: 01ab");
}

TEST(Cost, OfRoutersGrowsWithEnginesAndWorkers) {
  const Benchmark plain{.name = "", .measures = "", .needs = "", .cost = {1, 2}};
  EXPECT_DOUBLE_EQ(cost_here(plain, true).of(3), 7);
  const Benchmark routers{
      .name = "", .measures = "", .needs = "", .cost = {.once = 1, .a_round = 2, .is_of_each_router = true}};
  const auto on_cpus =
      std::ranges::count_if(engines(), [](const EngineInfo& engine) { return !engine.name.starts_with("cuda"); });
  const auto counts = static_cast<double>(worker_counts().size());
  EXPECT_DOUBLE_EQ(cost_here(routers, false).a_round, 2 * static_cast<double>(on_cpus) * counts);
  EXPECT_DOUBLE_EQ(cost_here(routers, true).a_round, 2 * static_cast<double>(engines().size()) * counts);
}

TEST(Cost, OfGpusCountsWhereThereIsOne) {
  const Benchmark benchmark{
      .name = "", .measures = "", .needs = "", .cost = {.once = 1, .a_round = 2, .once_on_gpu = 4}};
  EXPECT_DOUBLE_EQ(cost_here(benchmark, false).of(3), 7);
  EXPECT_DOUBLE_EQ(cost_here(benchmark, true).of(3), 11);
}

TEST(Cost, TellsThePapersMeasurementsFromOthers) {
  EXPECT_TRUE(cost_here({.name = "", .measures = "", .needs = ""}, false).is_ours_alone);
  EXPECT_FALSE(cost_here({.name = "", .measurements = {"E6"}, .measures = "", .needs = ""}, false).is_ours_alone);
}

TEST(Report, ComparesByTheMedianOfRatios) {
  Report report("x", true);
  const std::vector<Series> series{{"a", {1, 2, 3}}, {"b", {4, 4, 3}}};
  EXPECT_THAT(report.compare("t", "u", series, "a"), ElementsAre(1, 2));
  report.bar("b / a", 2, 2.5, true);
  EXPECT_FALSE(report.json()["bars"][0]["met"].get<bool>());
  EXPECT_THROW(report.compare("t", "u", series, "c"), std::invalid_argument);
}

nlohmann::json comparison_of(Report& report) {
  return report.json()["comparisons"].back();
}

TEST(Report, SaysWhereComparisonsStandInPlots) {
  Report report("x", true);
  const std::vector<Series> series{{"a", {1}, Role::ours, "first"}, {"b", {2}, Role::rival}};
  const Plot plot{"E6", "p", "table", "B"};
  report.compare("t", "u", series, "", Place{plot, 8.0});
  nlohmann::json found = comparison_of(report);
  EXPECT_EQ(found["plot"],
            nlohmann::json({{"measurement", "E6"}, {"title", "p"}, {"x", "table"}, {"x_unit", "B"}, {"at", 8.0}}));
  EXPECT_EQ(found["contenders"][0]["curve"], "first");
  EXPECT_FALSE(found["contenders"][1].contains("curve"));
  EXPECT_EQ(found["contenders"][1]["role"], "rival");
  report.compare("t", "u", series, "", Places{plot, "all", {1.0, "many"}});
  found = comparison_of(report);
  EXPECT_FALSE(found["plot"].contains("at"));
  EXPECT_EQ(found["contenders"][0]["at"], 1.0);
  EXPECT_EQ(found["contenders"][0]["curve"], "first") << "its own goes before that of all";
  EXPECT_EQ(found["contenders"][1]["at"], "many");
  EXPECT_EQ(found["contenders"][1]["curve"], "all");
  EXPECT_THROW(report.compare("t", "u", series, "", Places{plot, "all", {1.0}}), std::invalid_argument);
  report.compare("t", "u", series, "");
  EXPECT_FALSE(comparison_of(report).contains("plot"));
}

TEST(Report, CountsBars) {
  Report report("x", true);
  report.bar("high enough", 2, 2, true);
  report.bar("too low", 1.99, 2, true);
  report.bar("low enough", 1, 2, false);
  report.bar("too high", 3, 2, false);
  report.bar_not_shown("without a rival", "it is not installed");
  const BarCount count = count_bars(nlohmann::json::array({report.json(),
                                                           {{"benchmark", "y"}, {"error", "no"}},
                                                           {{"benchmark", "z"}, {"absent", "no GPU"}},
                                                           report.json()}));
  EXPECT_EQ(count.met, 4U);
  EXPECT_EQ(count.missed, 4U);
  EXPECT_EQ(count.not_shown, 3U);
  EXPECT_EQ(count.verdict(), false);
  EXPECT_EQ((BarCount{1, 0, 0}.verdict()), true);
  EXPECT_EQ((BarCount{1, 0, 1}.verdict()), std::nullopt);
}

TEST(Schedule, GivesAllTheRoundsThatAreAskedFor) {
  const Schedule schedule({{1, 1}, {100, 1}}, 5, {});
  EXPECT_EQ(schedule.rounds_of_next(), 5U);
  EXPECT_EQ(schedule.left(0), 111);
  EXPECT_EQ(schedule.left(2), 109);
  EXPECT_EQ(schedule.left(1000), 105) << "one that takes longer does not shorten the others";
}

TEST(Schedule, GivesAsManyRoundsAsTheBudgetHas) {
  EXPECT_EQ(Schedule({{1, 1}, {1, 2}}, 7, 100).rounds_of_next(), 7U);
  EXPECT_EQ(Schedule({{1, 1}, {1, 2}}, 7, 14).rounds_of_next(), 4U);
  EXPECT_EQ(Schedule({{1, 1}, {1, 2}}, 7, 5).rounds_of_next(), 1U);
}

TEST(Schedule, GivesThreeRoundsOfWhatCostsLittle) {
  Schedule schedule({{0, 1}, {0, 1.3}, {0, 90}}, 7, 100);
  EXPECT_EQ(schedule.rounds_of_next(), 3U) << "two more are a fiftieth of the budget";
  EXPECT_NEAR(schedule.left(0), 3 + 1.3 + 90, 1e-9) << "the others are not told to have as many";
  schedule.took(3, 3);
  EXPECT_EQ(schedule.rounds_of_next(), 2U) << "two more would be more than a fortieth";
  EXPECT_EQ(Schedule({{0, 1}, {0, 98}}, 7, 100).rounds_of_next(), 2U) << "the other one keeps its round";
  EXPECT_EQ(Schedule({{0, 1}, {0, 90}}, 2, 100).rounds_of_next(), 2U) << "no more than are asked for";
}

TEST(Schedule, LeavesOutTheDearestOnes) {
  Schedule schedule({{50, 1}, {1, 1}, {2, 1}}, 7, 6);
  EXPECT_EQ(schedule.rounds_of_next(), 0U);
  schedule.took(0, 0);
  EXPECT_EQ(schedule.rounds_of_next(), 1U);
  schedule.took(1, 2);
  EXPECT_EQ(schedule.rounds_of_next(), 2U);
  schedule.took(2, 4);
  EXPECT_EQ(schedule.done(), schedule.size());
  EXPECT_EQ(schedule.left(0), 0);
}

TEST(Schedule, LeavesOutWhatIsNoMeasurementOfThePapersFirst) {
  const Cost ours{.once = 3, .a_round = 1, .is_ours_alone = true};
  Schedule schedule({ours, {50, 1}, {60, 1}, ours}, 1, 57);
  EXPECT_EQ(schedule.rounds_of_next(), 1U) << "what the papers' leave is room for one of ours";
  schedule.took(1, 4);
  EXPECT_EQ(schedule.rounds_of_next(), 1U);
  schedule.took(1, 51);
  EXPECT_EQ(schedule.rounds_of_next(), 0U);
  schedule.took(0, 0);
  EXPECT_EQ(schedule.rounds_of_next(), 0U) << "2 s are left";
  EXPECT_EQ(Schedule({ours, {50, 1}}, 1, 53).rounds_of_next(), 0U) << "though it is the cheaper one";
  EXPECT_EQ(Schedule({ours, {60, 1}}, 1, 53).rounds_of_next(), 1U) << "there is no room for the other one anyway";
}

TEST(Schedule, LearnsHowFastTheMachineIs) {
  Schedule schedule({{0, 10}, {0, 10}}, 4, 100);
  EXPECT_EQ(schedule.rounds_of_next(), 4U);
  schedule.took(4, 80);
  EXPECT_EQ(schedule.rounds_of_next(), 1U) << "20 s are left, and a round takes 20";
  EXPECT_EQ(schedule.left(0), 20);
}

TEST(NextHops, AreInTheOrderOfTheAddresses) {
  const std::vector<Dir24_8::Entry> entries{
      {prefix("0.0.0.0/0"), 1}, {prefix("10.0.0.0/8"), 2}, {prefix("10.1.2.3"), 3}};
  const std::vector<std::uint32_t> addresses{address("10.1.2.3"), address("9.0.0.0"), address("10.1.2.4")};
  EXPECT_THAT(next_hops<Ipv4>(Oracle(entries), addresses), ElementsAre(3, 1, 2));
}

InputTable small_table() {
  InputTable table;
  table.next_hops = 5;
  std::mt19937 random(1);
  for (std::uint32_t i = 0; i < 2000; ++i) {
    const Ipv4Prefix place{{(i + 256) << 14}, 18};
    table.entries.push_back({place, static_cast<std::uint16_t>(random() % 5)});
    table.routes.routes.push_back({.prefix = place, .metric = i % 3});
  }
  return table;
}

TEST(ChurnScripts, ChangeTheTableWithEachStepAndLeadBack) {
  const InputTable table = small_table();
  for (const ChurnScript& script : {random_churn(table, 500, 7), bgp_churn(table, 500, 7)}) {
    std::map<Ipv4Prefix, std::uint16_t> start;
    for (const auto& [place, next_hop] : table.entries) start[place] = next_hop;
    auto content = start;
    const auto apply_all = [&content](const std::vector<Change>& changes) {
      for (const Change& change : changes) {
        const auto before = content;
        if (change.after) {
          content[change.prefix] = *change.after;
        } else {
          content.erase(change.prefix);
        }
        ASSERT_NE(content, before);
      }
    };
    apply_all(script.changes);
    std::map<Ipv4Prefix, std::uint16_t> result;
    for (const auto& [place, next_hop] : script.result) result[place] = next_hop;
    EXPECT_EQ(content, result);
    apply_all(script.undo);
    EXPECT_EQ(content, start);
  }
}

/// In every state of the planned prefixes the longest match is among the allowed hops, and every allowed hop occurs.
TEST(ChurnTruth, AllowsWhatTheStatesGiveAndNoMore) {
  std::vector<KnownRoute> routes{{prefix("10.0.0.0/8"), 0}};
  for (std::uint32_t i = 0; i < 31'000; ++i) {
    routes.push_back({{{address("10.0.0.0") + (i << 9)}, 23}, static_cast<std::uint16_t>(i % 7)});
  }
  const ChurnTruth truth(routes, 7, 3);
  std::mt19937 random(5);
  std::vector<std::uint32_t> addresses, seen(3000, 0);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const PlannedChange& change = truth.plan()[random() % truth.plan().size()];
    addresses.push_back(change.prefix.address.value | (random() & ~change.prefix.mask()));
  }
  for (int state = 0; state < 20; ++state) {
    std::map<Ipv4Prefix, std::optional<std::uint16_t>> content;
    for (const KnownRoute& route : routes) content[route.prefix] = route.hop;
    for (const PlannedChange& change : truth.plan())
      content[change.prefix] = random() % 2 ? change.first : change.second;
    std::vector<Dir24_8::Entry> entries;
    for (const auto& [place, hop] : content) {
      if (hop) entries.push_back({place, *hop});
    }
    const Oracle oracle(entries);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const std::uint16_t hop = oracle.next_hop({addresses[i]});
      ASSERT_LT(hop, 7);
      EXPECT_TRUE((truth.allowed(addresses[i]) >> hop & 1) != 0) << to_string(Ipv4Address{addresses[i]});
      seen[i] |= 1U << hop;
    }
  }
  std::size_t complete = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) complete += seen[i] == truth.allowed(addresses[i]) ? 1 : 0;
  EXPECT_GT(complete, seen.size() * 9 / 10);
}

TEST(RunProgram, GivesOutputAndReportsFailure) {
  EXPECT_EQ(run_program({"echo", "hello"}).output, "hello\n");
  EXPECT_THROW(run_program({"false"}), std::runtime_error);
  EXPECT_THAT(message_of<std::runtime_error>([&] { run_program({"sh", "-c", "echo no >&2; exit 3"}); }),
              HasSubstr("no\n"));
}

TEST(RunProgram, InterruptsWhatHasSaidEnough) {
  const auto enough = [](const std::string& text) { return text.find("ready") != std::string::npos; };
  const Finished finished =
      run_program({"sh", "-c", "trap 'echo bye; exit 0' INT; echo ready; while :; do sleep 0.1; done"}, enough);
  EXPECT_EQ(finished.output, "ready\nbye\n");
  EXPECT_TRUE(finished.thread_seconds.contains("sh"));
}

}  // namespace
}  // namespace penumbra::bench
