// SPDX-License-Identifier: Apache-2.0
//
// Documents, plots, sentences and verdicts. The page as a whole is tests/test_report.py's.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "penumbra/errors.h"
#include "report/chart.h"
#include "report/document.h"
#include "report/papers.h"
#include "report/plots.h"
#include "report/sentences.h"
#include "report/targets.h"
#include "report/verdicts.h"

namespace penumbra::report {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Point point(Place place, double value, double width = 0) {
  return {std::move(place), "", {value, value * (1 - width), value * (1 + width)}, {value}, std::nullopt};
}

Curve curve(const std::string& name, const std::vector<std::pair<double, double>>& points, Role role = Role::ours,
            double width = 0) {
  Curve found{name, role, {}};
  for (const auto& [place, value] : points) found.points.push_back(point(place, value, width));
  return found;
}

Plot plot_of_curves(std::vector<Curve> curves, const std::string& unit = "M items/s") {
  Plot plot;
  plot.measurement = "E6";
  plot.title = "a plot";
  plot.unit = unit;
  plot.panels.push_back({0, std::move(curves)});
  return plot;
}

std::string all_sentences(const Plot& plot) {
  std::string text;
  for (const std::string& each : sentences(plot, plot.panels.front())) text += each + "\n";
  return text;
}

Conclusion conclusion(const std::string& check) {
  const std::string text = R"({"measurement": "E6", "title": "t", "papers": [{"paper": "p", "where": "w",
    "conclusions": [{"says": "s", "check": )" +
                           check + "}]}]}";
  return parse_papers(text, "test").papers.front().conclusions.front();
}

TEST(ReportSentences, CrossingsLieBetweenThePoints) {
  EXPECT_THAT(crossings(curve("a", {{1, 1}, {100, 10}}), curve("b", {{1, 10}, {100, 1}})),
              ElementsAre(DoubleNear(10, 1e-6)));
  EXPECT_THAT(crossings(curve("a", {{0, 1}, {10, 4}}), curve("b", {{0, 2}, {10, 2}})),
              ElementsAre(DoubleNear(5, 1e-6)));
  EXPECT_THAT(crossings(curve("a", {{1, 1}, {2, 2}}), curve("b", {{1, 2}, {2, 4}})), IsEmpty());
  EXPECT_THAT(crossings(curve("a", {{1, 1}, {2, 2}, {3, 3}}), curve("b", {{1, 2}, {2, 2}, {3, 2}})),
              ElementsAre(DoubleNear(2, 0.01)))
      << "they touch at 2";
  EXPECT_THAT(crossings(curve("a", {{1, 1}}), curve("b", {{2, 2}})), IsEmpty());
}

TEST(ReportSentences, TheOneAheadThroughout) {
  const Plot plot = plot_of_curves({curve("ours", {{1, 20}, {8, 40}}), curve("theirs", {{1, 10}, {8, 30}}, Role::rival),
                                    curve("bus", {{1, 100}, {8, 100}}, Role::limit)});
  const std::string text = all_sentences(plot);
  EXPECT_THAT(text, HasSubstr("ours is ahead throughout, from 1 to 8, by 1.33 to 2 times over the next best."));
  EXPECT_THAT(text, HasSubstr("The best of ours is 1.33 (at 8) to 2 (at 1) times as good as the best rival (theirs)."));
  EXPECT_THAT(text, HasSubstr("Of the limit (bus) the best of ours reaches 0.2 (at 1) to 0.4 (at 8)."));
}

TEST(ReportSentences, OfTimesLessIsBetter) {
  const Plot plot =
      plot_of_curves({curve("copies", {{1, 20}, {100, 20}}), curve("polling", {{1, 5}, {100, 80}})}, "us");
  const std::string text = all_sentences(plot);
  EXPECT_THAT(text, StartsWith("Ahead: polling at 1 and copies at 100; the next best takes 4 times as much. "
                               "The lead changes near 10."));
}

TEST(ReportSentences, SpreadsThatOverlapAreSaid) {
  const Plot plot = plot_of_curves({curve("a", {{1, 10}, {2, 10}}, Role::ours, 0.2), curve("b", {{1, 9}, {2, 1}})});
  EXPECT_THAT(all_sentences(plot), HasSubstr("At 1 of 2 places the spreads of the best two overlap."));
}

TEST(ReportSentences, WordsAreListedByWhoLeads) {
  Curve a{"a", Role::ours, {point("x", 3), point("y", 1), point("z", 3)}};
  Curve b{"b", Role::ours, {point("x", 1), point("y", 2), point("z", 1)}};
  EXPECT_THAT(all_sentences(plot_of_curves({a, b})), StartsWith("Ahead: a at x and z; b at y, by 2 to 3 times"));
}

TEST(ReportSentences, InstructionsAreNoRace) {
  const Plot plot = plot_of_curves({curve("a", {{1, 30}}), curve("b", {{1, 60}})}, "instructions an item");
  EXPECT_EQ(all_sentences(plot), "1: most 60 (b), least 30 (a).\n");
}

TEST(ReportVerdicts, Bounds) {
  const std::vector<Plot> plots{
      plot_of_curves({curve("gopt", {{1, 20}, {8, 60}}), curve("plain loop", {{1, 10}, {8, 20}})})};
  const auto verdict = [&plots](const std::string& check) { return judge(conclusion(check), plots, 0); };
  const Verdict holds = verdict(R"({"plot": "a plot", "of": "gopt", "to": "plain", "at_least": 2})");
  EXPECT_EQ(holds.outcome, Outcome::holds);
  EXPECT_EQ(holds.sentence, "a plot, gopt at 1 over plain loop: 2; gopt at 8 over plain loop: 3 (asked: 2 or more).");
  const Verdict fails = verdict(R"({"of": "gopt", "to": "plain", "at_most": 2})");
  EXPECT_EQ(fails.outcome, Outcome::does_not_hold);
  EXPECT_THAT(fails.sentence, HasSubstr("gopt at 8 over plain loop: 3 (asked: 2 or less); but it holds for"));
  EXPECT_EQ(verdict(R"({"of": "gopt", "to": "plain", "at": 8, "at_least": 3})").outcome, Outcome::holds);
  EXPECT_EQ(verdict(R"({"of": "gopt", "at": "last", "to_at": "first", "at_least": 3})").outcome, Outcome::holds);
  EXPECT_EQ(verdict(R"({"of": "gopt", "to": "plain", "at": [2, 4], "at_least": 3})").outcome, Outcome::cannot_be_said);
  EXPECT_EQ(verdict(R"({"plot": "another", "of": "gopt", "at_least": 3})").outcome, Outcome::cannot_be_said);
  EXPECT_EQ(judge(conclusion(R"({"of": "gopt", "at_least": 3})"), plots, 1).outcome, Outcome::cannot_be_said)
      << "another machine has no figures";
}

TEST(ReportVerdicts, AheadUpToAPlace) {
  const std::vector<Plot> plots{plot_of_curves(
      {curve("polling", {{1, 5}, {512, 10}, {4096, 45}}), curve("copies", {{1, 15}, {512, 15}, {4096, 15}})}, "us")};
  const auto verdict = [&plots](const std::string& check) { return judge(conclusion(check), plots, 0); };
  const Verdict holds = verdict(R"({"of": "polling", "to": "copies", "ahead_up_to": 512, "behind_from": 2000})");
  EXPECT_EQ(holds.outcome, Outcome::holds);
  EXPECT_THAT(holds.sentence,
              HasSubstr("polling is ahead from 1 to 512 (1.50 to 3 times as good) and behind at 4,096"));
  EXPECT_THAT(holds.sentence, HasSubstr("they cross near 897"));
  EXPECT_EQ(verdict(R"({"of": "polling", "to": "copies", "ahead_up_to": 5000})").outcome, Outcome::does_not_hold);
  EXPECT_EQ(verdict(R"({"of": "polling", "to": "copies", "behind_from": 5000})").outcome, Outcome::cannot_be_said);
}

TEST(ReportVerdicts, WhereTheGreatestIs) {
  const std::vector<Plot> plots{
      plot_of_curves({curve("gopt", {{10, 2}, {300, 3}, {2000, 1}}), curve("plain", {{10, 1}, {300, 1}, {2000, 1}})})};
  EXPECT_EQ(judge(conclusion(R"({"of": "gopt", "to": "plain", "peak": [150, 600]})"), plots, 0).outcome,
            Outcome::holds);
  EXPECT_EQ(judge(conclusion(R"({"of": "gopt", "to": "plain", "peak": [1, 20]})"), plots, 0).outcome,
            Outcome::does_not_hold);
}

TEST(ReportPlots, ComparisonsOfOnePlotComeTogether) {
  const auto text = [](const std::string& at, double value) {
    const std::string number = std::to_string(value);
    return R"({"title": "t", "unit": "us", "plot": {"measurement": "E6", "title": "p", "at": )" + at +
           R"(}, "contenders": [{"name": "n", "curve": "c", "value": {"median": )" + number + R"(, "min": )" + number +
           R"(, "max": )" + number + "}}]}";
  };
  const auto plots = [](const std::string& comparisons) {
    return plots_of({parse_document(R"({"schema": "penumbra-bench/1", "machine": {}, "build": {"version": "v"},
      "results": [{"benchmark": "b", "comparisons": [)" +
                                        comparisons + "]}]}",
                                    "test")});
  };
  const auto numbers = plots(text("8", 2) + "," + text("2", 1) + "," + text("8", 3));
  ASSERT_EQ(numbers.size(), 1U);
  const Curve& one = numbers[0].panels.at(0).curves.at(0);
  ASSERT_EQ(one.points.size(), 2U) << "the last that was told at a place counts";
  EXPECT_EQ(one.points[0].place, Place(2.0));
  EXPECT_EQ(one.at(8.0)->value.median, 3);
  const auto mixed = plots(text("8", 2) + "," + text("\"many\"", 1));
  EXPECT_THAT(mixed.at(0).places(), ElementsAre(Place("8"), Place("many")));
}

TEST(ReportPlots, OfWhatBelongsToNoMeasurementEachBenchmarkHasItsOwn) {
  const auto entry = [](const std::string& benchmark) {
    return R"({"benchmark": ")" + benchmark + R"(", "comparisons": [{"title": "t", "unit": "M lookups/s",
      "plot": {"measurement": ")" +
           benchmark + R"(", "title": "batches of 64", "at": 1},
      "contenders": [{"name": "scalar", "value": {"median": 2, "min": 1, "max": 3}}]}]})";
  };
  const auto plots = plots_of(
      {parse_document(R"({"schema": "penumbra-bench/1", "machine": {}, "build": {"version": "v"}, "results": [)" +
                          entry("lookup") + "," + entry("lookup6") + "]}",
                      "test")});
  ASSERT_EQ(plots.size(), 2U);
  EXPECT_EQ(plots[0].benchmark, "lookup");
  EXPECT_EQ(plots[1].benchmark, "lookup6");
  for (const Plot& plot : plots) {
    EXPECT_EQ(plot.measurement, "");
    EXPECT_EQ(plot.panels.at(0).curves.at(0).points.size(), 1U);
  }
}

TEST(ReportPlots, RatiosAreTakenRoundByRound) {
  Point of = point(1.0, 4), to = point(1.0, 2);
  EXPECT_EQ(ratio(of, to), 2);
  of.samples = {1, 10, 3};
  to.samples = {1, 1, 1};
  EXPECT_EQ(ratio(of, to), 3);
  to.samples = {1, 2};
  EXPECT_EQ(ratio(of, to), 2) << "not of the same rounds";
  to.value.median = 0;
  EXPECT_EQ(ratio(of, to), 0);
}

TEST(ReportPlots, WhatATextIsAbout) {
  Entry entry;
  entry.measurements = {"E1", "E11"};
  EXPECT_EQ(measurement_of(entry, "E11 look-ups"), "E11");
  EXPECT_EQ(measurement_of(entry, "copies, E1"), "E1");
  EXPECT_EQ(measurement_of(entry, "XE11"), "E1");
  entry.measurements.clear();
  EXPECT_EQ(measurement_of(entry, "E1"), "");
}

TEST(ReportLooks, AreUnlikeEachOther) {
  Looks looks;
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (std::size_t i = 0; i < Looks::kColours * Looks::kShapes; ++i) {
    const Looks::Look look = looks.of(std::to_string(i));
    EXPECT_TRUE(seen.emplace(look.colour, look.shape).second) << i;
  }
  EXPECT_EQ(looks.of("7").colour, 1U) << "a curve keeps its look";
  EXPECT_EQ(looks.of("7").shape, 2U);
}

TEST(ReportPapers, AllMeasurementsAreBuiltIn) {
  const auto all = built_in_papers();
  ASSERT_EQ(all.size(), static_cast<std::size_t>(kMeasurements));
  for (int number = 1; number <= kMeasurements; ++number) {
    const PaperMeasurement& each = all[static_cast<std::size_t>(number) - 1];
    EXPECT_EQ(each.measurement, measurement_name(number));
    EXPECT_FALSE(each.title.empty());
    EXPECT_FALSE(each.papers.empty());
  }
}

/// As bench/gpu/classification.cc calls them.
TEST(ReportPapers, ClassificationIsFoundAtTheCoresThatThePaperHas) {
  Plot plot = plot_of_curves({curve("the bus beside cuda", {{1, 9000}, {8, 9000}}, Role::limit),
                              curve("tuple by gopt, batches of 256", {{1, 1}, {8, 5}}),
                              curve("tuple by cuda, batches of 65536", {{1, 90}, {8, 50}}),
                              curve("tuple by cuda-resident, batches of 1024", {{1, 2}, {8, 60}}),
                              curve("bloom by gopt, batches of 256", {{1, 2}, {8, 10}}),
                              curve("bloom by cuda, batches of 65536", {{1, 300}, {8, 140}})},
                             "M headers/s");
  plot.title = "128 K rules of 12 fields in 512 classes";
  Plot few_rules = plot;
  few_rules.title = "acl1_1k";
  const std::vector<Plot> plots{few_rules, plot};
  const auto all = built_in_papers();
  const auto measurement = std::ranges::find(all, "E14", &PaperMeasurement::measurement);
  ASSERT_NE(measurement, all.end());
  const Paper& paper = measurement->papers.front();
  const auto ratio_of = [&](const std::string& what) {
    const auto number = std::ranges::find(paper.numbers, what, &PaperNumber::what);
    const auto found = find(number->ours.value(), plots, 0);
    return found.size() == 1 ? found.front().value : 0;
  };
  EXPECT_EQ(ratio_of("tuple search, GPU over 8 cores"), 12);
  EXPECT_EQ(ratio_of("Bloom search, GPU over 8 cores"), 14);
  const Verdict verdict = judge(paper.conclusions.front(), plots, 0);
  EXPECT_EQ(verdict.outcome, Outcome::holds);
  EXPECT_THAT(verdict.sentence,
              HasSubstr("bloom by cuda, batches of 65536 at 8 over bloom by gopt, batches of 256: 14 "));
}

TEST(ReportPapers, MistakesAreNamed) {
  for (const char* check : {"{}", R"({"peak": [1]})", R"({"of": "a", "ahead_up_to": 3})"}) {
    EXPECT_THROW(conclusion(check), InputError) << check;
  }
}

}  // namespace
}  // namespace penumbra::report
