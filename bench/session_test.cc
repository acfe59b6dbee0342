// SPDX-License-Identifier: Apache-2.0
//
// Tests `run` with benchmarks that measure nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "apart.h"
#include "base/scratch_folder.h"
#include "bench.h"

namespace penumbra::bench {
namespace {

using testing::HasSubstr;

bool add(const std::string& name, bool takes_routes, void (*run)(const Options&, Report&)) {
  return register_benchmark({.name = name, .measures = "", .needs = "", .takes_routes = takes_routes, .run = run});
}
const bool kMet = add("test met", false, [](const Options&, Report& report) { report.bar("easy", 2, 1, true); });
const bool kMissed = add("test missed", false, [](const Options&, Report& report) { report.bar("hard", 1, 2, true); });
const bool kNotShown =
    add("test not shown", false, [](const Options&, Report& report) { report.bar_not_shown("far", "no way"); });
const bool kFails = add("test fails", false, [](const Options&, Report&) { throw WrongAnswer("one is two"); });
const bool kTakesRoutes = add("test routes", true, [](const Options& options, Report& report) {
  report.input("file", options.routes.value_or("none").string());
});

Options named(std::vector<std::string> names) {
  Options options;
  options.names = std::move(names);
  return options;
}

/// Returns the outcome and the document.
std::pair<Outcome, nlohmann::json> run_quietly(Options options) {
  options.json = true;
  std::string document;
  const Outcome outcome = run(options, "0", [&document](std::string_view text) { document += text; });
  return {outcome, nlohmann::json::parse(document)};
}

Outcome run_with_text(const Options& options) {
  return run(options, "0", [](std::string_view) { FAIL() << "a document was not asked for"; });
}

/// Does not fit into 100 s together with a benchmark that takes no time, by the expected costs.
const bool kDear = register_benchmark({.name = "test dear",
                                       .measures = "",
                                       .needs = "",
                                       .cost = {.once = 95, .a_round = 1},
                                       .run = [](const Options&, Report& report) { report.note("measured"); }});
const bool kSlow = register_benchmark({.name = "test slow",
                                       .measures = "",
                                       .needs = "",
                                       .cost = {.once = 20, .a_round = 1},
                                       .run = [](const Options&, Report& report) { report.note("measured"); }});
const bool kAbsent = register_benchmark({.name = "test absent",
                                         .measurements = {"E99"},
                                         .measures = "",
                                         .needs = "",
                                         .probe = [] { return Availability{false, "not on this machine"}; },
                                         .run = nullptr});

void compare_something(Report& report) {
  report.compare("done", "us", std::vector<Series>{{.name = "one", .samples = {1.0}}}, "");
}
const bool kStops = add("test stops", false, [](const Options&, Report& report) {
  compare_something(report);
  throw std::runtime_error("no more");
});
const bool kErrs = add("test errs", false, [](const Options&, Report& report) {
  compare_something(report);
  throw WrongAnswer("one is two");
});

TEST(Run, KeepsWhatWasFoundBeforeAFailureButNotBesideAWrongAnswer) {
  ASSERT_TRUE(kStops && kErrs);
  const auto [outcome, document] = run_quietly(named({"test stops", "test errs"}));
  EXPECT_EQ(outcome, Outcome::failed);
  ASSERT_EQ(document["results"].size(), 2U);
  const bool is_first = document["results"][0]["benchmark"] == "test stops";
  const nlohmann::json &stopped = document["results"][is_first ? 0 : 1], &wrong = document["results"][is_first ? 1 : 0];
  EXPECT_EQ(stopped["error"], "no more");
  ASSERT_EQ(stopped["comparisons"].size(), 1U);
  EXPECT_EQ(stopped["comparisons"][0]["title"], "done");
  EXPECT_EQ(wrong["error"], "one is two");
  EXPECT_FALSE(wrong.contains("comparisons"));
}

const bool kNeighbour = register_benchmark({.name = "test neighbour",
                                            .also = "test absent",
                                            .measures = "",
                                            .needs = "",
                                            .run = [](const Options&, Report& report) { report.note("measured"); }});

TEST(Run, MeasuresWithANameWhatIsMeasuredWithItTooWhereThatCanBe) {
  ASSERT_TRUE(kNeighbour && kAbsent);
  nlohmann::json results = run_quietly(named({"test absent"})).second["results"];
  ASSERT_EQ(results.size(), 2U);
  for (const auto& each : results) EXPECT_EQ(each["absent"], "not on this machine");
  results = run_quietly(named({"test neighbour", "test absent"})).second["results"];
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(std::ranges::count_if(results, [](const auto& each) { return each.contains("absent"); }), 1);
}

TEST(Run, TellsHowTheBarsStand) {
  ASSERT_TRUE(kMet && kMissed && kNotShown && kFails);
  auto [outcome, document] = run_quietly(named({"test met"}));
  EXPECT_EQ(outcome, Outcome::ok);
  EXPECT_EQ(document["met"], true);
  std::tie(outcome, document) = run_quietly(named({"test missed", "test met", "test not shown"}));
  EXPECT_EQ(outcome, Outcome::bar_missed);
  EXPECT_EQ(document["met"], false);
  EXPECT_EQ(document["results"].size(), 3U) << "what comes after a missed bar is measured too";
  std::tie(outcome, document) = run_quietly(named({"test met", "test not shown"}));
  EXPECT_EQ(outcome, Outcome::ok);
  EXPECT_TRUE(document["met"].is_null());
  std::tie(outcome, document) = run_quietly(named({"test fails", "test missed"}));
  EXPECT_EQ(outcome, Outcome::failed);
}

TEST(Run, TellsWhatIsAbsent) {
  ASSERT_TRUE(kAbsent);
  auto [outcome, document] = run_quietly(named({"E99", "test met"}));
  EXPECT_EQ(outcome, Outcome::ok);
  EXPECT_TRUE(document["met"].is_null());
  ASSERT_EQ(document["results"].size(), 2U);
  EXPECT_EQ(document["results"][0]["absent"], "not on this machine");
  EXPECT_EQ(document["results"][0]["measurements"], nlohmann::json::array({"E99"}));
}

TEST(RunApart, GivesUpOnWhatDoesNotEnd) {
  const auto sleep_on = []() -> nlohmann::json {
    pause();
    return 1;
  };
  const nlohmann::json found = run_apart("sleeper", 1.5, sleep_on, [] {});
  EXPECT_THAT(found["error"].get<std::string>(), HasSubstr("given up"));
}

TEST(RunApart, SaysHowAProcessEnded) {
  const auto error_of = [](void (*work)()) {
    const auto call = [work]() -> nlohmann::json {
      work();
      return 1;
    };
    return run_apart("x", 60, call, [] {})["error"].get<std::string>();
  };
  EXPECT_EQ(error_of([] { throw WrongAnswer("one is two"); }), "one is two");
  EXPECT_EQ(error_of([] { _exit(3); }), "ended with status 3");
  EXPECT_EQ(error_of([] { raise(SIGKILL); }), "ended by signal 9");
}

TEST(Run, ComesBackToWhatWasLeftOut) {
  ASSERT_TRUE(kDear && kSlow);
  Options options = named({"test dear", "test slow"});
  options.budget = 100;
  const nlohmann::json document = run_quietly(options).second;
  ASSERT_EQ(document["results"].size(), 2U);
  for (const auto& entry : document["results"]) {
    EXPECT_GE(entry.value("rounds", 0U), 1U) << entry;
    for (const char* pace : {"memory", "core"}) EXPECT_GT(entry.at("pace").value(pace, 0.0), 0) << entry;
  }
}

TEST(Run, RefusesUnknownNames) {
  for (const char* name : {"E77", "nonsense", ""})
    EXPECT_THROW(run_with_text(named({name})), std::invalid_argument) << name;
}

nlohmann::json read_document(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return nlohmann::json::parse(stream);
}

TEST(Run, GoesOnWhereItWasCutOff) {
  const ScratchFolder folder;
  Options options = named({"test met"});
  options.output = folder / "results.json";
  const auto run_it = [&options] { return run_quietly(options).first; };
  EXPECT_EQ(run_it(), Outcome::ok);
  const nlohmann::json first = read_document(*options.output);
  EXPECT_EQ(first["schema"], "penumbra-bench/1");
  options.names = {"test met", "test fails"};
  EXPECT_EQ(run_it(), Outcome::failed);
  const nlohmann::json second = read_document(*options.output);
  ASSERT_EQ(second["results"].size(), 2U);
  EXPECT_EQ(second["results"][0], first["results"][0]) << "it was not measured again";
  EXPECT_EQ(run_it(), Outcome::failed) << "what failed is tried again";
  EXPECT_EQ(read_document(*options.output)["results"].size(), 2U);
  options.rounds = kRounds + 1;
  options.names = {"test met"};
  run_it();
  EXPECT_EQ(read_document(*options.output)["results"].back()["rounds"], kRounds + 1) << "more rounds replace them";
}

TEST(Run, OverwritesNoFileOfAnother) {
  const ScratchFolder folder;
  Options options = named({"test met"});
  options.output = folder / "results.json";
  for (const char* text :
       {"", "text", "{}", "[]", R"({"schema": "penumbra-bench/2", "results": []})",
        R"({"schema": "penumbra-bench/1", "results": {}})", R"({"schema": "penumbra-bench/1", "results": [1]})",
        R"({"schema": "penumbra-bench/1", "results": [{"benchmark": 3}]})",
        R"({"schema": "penumbra-bench/1", "results": [{"benchmark": "x", "bars": {}}]})",
        R"({"schema": "penumbra-bench/1", "results": [{"benchmark": "x", "bars": [{}]}]})",
        R"({"schema": "penumbra-bench/1", "results": [{"benchmark": "x", "rounds": "7"}]})",
        R"({"schema": "penumbra-bench/1", "machine": {"processor": "another"}, "results": []})"}) {
    std::ofstream(*options.output) << text;
    EXPECT_THROW(run_with_text(options), std::invalid_argument) << text;
    std::ifstream stream(*options.output);
    EXPECT_EQ(std::string(std::istreambuf_iterator(stream), {}), text);
  }
  options.output = folder / "no such folder" / "results.json";
  EXPECT_THROW(run_with_text(options), std::system_error);
}

TEST(Run, SaysAtTheEndHowTheBarsStand) {
  testing::internal::CaptureStdout();
  run_with_text(named({"test met", "test not shown"}));
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, HasSubstr("far: NOT SHOWN: no way"));
  EXPECT_THAT(text, testing::EndsWith("bars: 1 met, 0 missed, 1 not shown\n"));
}

TEST(Run, RefusesARouteFileThatABenchmarkHasNoUseFor) {
  ASSERT_TRUE(kTakesRoutes);
  Options options = named({"test routes", "test met"});
  options.routes = "file";
  EXPECT_THROW(run_with_text(options), std::invalid_argument);
  options.names = {"test routes"};
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_with_text(options), Outcome::ok);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("file: file"));
  options.rules = {"other"};
  EXPECT_THROW(run_with_text(options), std::invalid_argument) << "and rules, which it has none for either";
}

}  // namespace
}  // namespace penumbra::bench
