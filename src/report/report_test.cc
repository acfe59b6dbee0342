// SPDX-License-Identifier: Apache-2.0
//
// Documents, plots and sentences. The page as a whole is tests/test_report.py's.
#include <gmock/gmock.h>

#include "report/context.h"
#include "report/crossings.h"
#include "report/document.h"
#include "report/parts.h"
#include "report/plots.h"
#include "report/sentences.h"
#include "report/test_plots.h"

namespace penumbra::report {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string all_sentences(const Plot& plot) {
  std::string text;
  for (const std::string& each : sentences(plot, plot.panels.front())) text += each + "\n";
  return text;
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
  Curve a{"a", Role::ours, {point_at("x", 3), point_at("y", 1), point_at("z", 3)}};
  Curve b{"b", Role::ours, {point_at("x", 1), point_at("y", 2), point_at("z", 1)}};
  EXPECT_THAT(all_sentences(plot_of_curves({a, b})), StartsWith("Ahead: a at x and z; b at y, by 2 to 3 times"));
}

TEST(ReportSentences, ALimitThatIsExceededIsNone) {
  const Plot plot =
      plot_of_curves({curve("ours", {{1, 50}, {8, 300}}), curve("lines", {{1, 100}, {8, 100}}, Role::limit)});
  const std::string text = all_sentences(plot);
  EXPECT_THAT(text, HasSubstr("Of the limit (lines) the best of ours reaches 0.5 (at 1)."));
  EXPECT_THAT(
      text, HasSubstr("At 8 ours is 3 times what was measured as the limit (lines): it bounds something else there."));
}

TEST(ReportSentences, WhereALeaderWasNotMeasuredNobodyLeads) {
  Plot plot = plot_of_curves({curve("gopt", {{1, 1}, {2, 2}, {4, 4}, {8, 8}}),
                              curve("scalar", {{1, 1}, {2, 1}, {8, 4}}), curve("cuda", {{1, 90}, {8, 80}})});
  plot.x = "threads";
  const std::string text = all_sentences(plot);
  EXPECT_THAT(text, StartsWith("cuda is ahead throughout, from 1 to 8, by 10 to 90 times over the next best."));
  EXPECT_THAT(text, HasSubstr("At 2 not all of these were measured; ahead of those that were: gopt at 2."));
  EXPECT_THAT(text, HasSubstr("Best of all is cuda with 90 M items/s (threads: 1)."));
}

TEST(ReportSentences, NobodyLeadsOnWhereALeadersCurveHasEnded) {
  const Plot plot =
      plot_of_curves({curve("linear", {{1, 9}, {4, 1}}), curve("tuple", {{1, 5}, {4, 6}, {16, 5}, {64, 1}}),
                      curve("bloom", {{1, 4}, {4, 5}, {16, 6}, {64, 7}})});
  const std::string text = all_sentences(plot);
  EXPECT_THAT(text, StartsWith("Ahead: linear at 1 and tuple at 4, by"));
  EXPECT_THAT(text,
              HasSubstr("At 16 and 64 not all of these were measured; ahead of those that were: bloom at 16 and 64."));
}

TEST(ReportSentences, NobodyLeadsUpToWhereALeadersCurveBegins) {
  const Plot plot =
      plot_of_curves({curve("late", {{4, 9}, {8, 9}, {16, 1}}), curve("a", {{1, 2}, {4, 3}, {8, 3}, {16, 6}}),
                      curve("b", {{1, 1}, {4, 2}, {8, 2}, {16, 3}})});
  EXPECT_THAT(all_sentences(plot), StartsWith("Ahead: late from 4 to 8 and a at 16, by"));
}

TEST(ReportSentences, OfOnePlaceTheBestIsSaidOnce) {
  Plot plot = plot_of_curves({curve("gopt", {{1, 2}}), curve("scalar", {{1, 1}})});
  plot.x = "workers";
  EXPECT_EQ(all_sentences(plot), "gopt is ahead at 1 (workers), by 2 times over the next best.\n");
}

TEST(ReportSentences, CurvesWithoutACommonPlaceStandWhereTheyAreBest) {
  const Plot plot = plot_of_curves({curve("1 core", {{1, 10}, {16, 80}}), curve("GPU", {{1024, 960}, {8192, 800}})});
  EXPECT_EQ(all_sentences(plot),
            "GPU at its best (960 at 1,024) is 12 times as good as 1 core at its best (80 at 16).\n");
}

TEST(ReportSentences, WaysThatAreThePlacesAreCompared) {
  Curve median{
      "median", Role::ours, {point_at("bare", 2), point_at("wire", 0.4), point_at("gopt", 0.5), point_at("cuda", 20)}};
  median.points[0].role = median.points[1].role = Role::limit;
  EXPECT_EQ(all_sentences(plot_of_curves({median}, "us")),
            "median: least 0.5 at gopt, most 20 at cuda. Its limit: 0.4 at wire.\n")
      << "gopt beats the other";
}

TEST(ReportSentences, NamesWithCommasStandApart) {
  EXPECT_EQ(enumerate({"1,024", "2,048", "4,096"}), "1,024, 2,048 and 4,096");
  EXPECT_EQ(enumerate({"gopt, 4 threads", "cuda"}), "gopt, 4 threads; cuda");
  const Plot plot =
      plot_of_curves({curve("gopt, 4 threads", {{1, 2}, {8, 2}}), curve("cuda, 1 thread", {{1, 1}, {8, 4}})});
  EXPECT_THAT(all_sentences(plot), StartsWith("Ahead: gopt, 4 threads at 1; cuda, 1 thread at 8, by 2 times"));
  const Curve a{"a", Role::ours, {point_at("chase, 1 KiB", 3), point_at("names, 1 KiB", 3), point_at("z", 1)}};
  const Curve b{"b", Role::ours, {point_at("chase, 1 KiB", 1), point_at("names, 1 KiB", 1), point_at("z", 2)}};
  EXPECT_THAT(all_sentences(plot_of_curves({a, b})),
              StartsWith("Ahead: a at chase, 1 KiB and names, 1 KiB; b at z, by"));
}

TEST(ReportSentences, ManyChangesOfTheLeadAreOnlyCounted) {
  const Plot plot = plot_of_curves(
      {curve("a", {{1, 1}, {2, 3}, {3, 1}, {4, 3}, {5, 1}}), curve("b", {{1, 2}, {2, 2}, {3, 2}, {4, 2}, {5, 2}})});
  const std::string text = all_sentences(plot);
  EXPECT_THAT(text, StartsWith("The lead changes 4 times, from b at 1 to b at 5"));
  EXPECT_THAT(text, Not(HasSubstr("The lead changes near")));
}

TEST(ReportSentences, WhereNothingCompetesNobodyIsAhead) {
  Plot plot = plot_of_curves({curve("1 worker", {{0, 30}, {500, 2}}), curve("4 workers", {{0, 90}, {500, 80}}),
                              curve("bus", {{0, 180}, {500, 100}}, Role::limit)});
  plot.is_race = false;
  EXPECT_EQ(all_sentences(plot),
            "1 worker: least 2 at 500, most 30 at 0.\n4 workers: least 80 at 500, most 90 at 0.\n"
            "Of the limit (bus) the best of ours reaches 0.5 (at 0) to 0.8 (at 500).\n");
}

TEST(ReportOverview, PapersPartsStandInTheirOrder) {
  const auto measurement = [](const std::string& name, const std::string& where) {
    return parse_papers(R"({"measurement": ")" + name + R"(", "title": "t", "papers": [{"paper": "p", "where": ")" +
                            where + R"(", "numbers": []}]})",
                        "test");
  };
  const std::vector<PaperMeasurement> papers{measurement("E1", "table 1, section 2.2"),
                                             measurement("E2", "section 2.2"), measurement("E9", "figure 12"),
                                             measurement("E11", "figures 2 and 3, section 2.3")};
  const std::vector<Document> documents;
  const PriceList prices = PriceList::built_in();
  const std::string page = overview(Context(documents, papers, prices));
  std::vector<std::size_t> at;
  for (const char* where : {"figures 2 and 3", "figure 12", "section 2.2 ", "table 1"}) at.push_back(page.find(where));
  EXPECT_TRUE(std::ranges::is_sorted(at)) << page;
  EXPECT_NE(at.back(), std::string::npos);
}

TEST(ReportPlots, WhatIsNoRace) {
  const auto comparison = [](const std::string& measurement, const std::string& title) {
    return R"({"title": "t", "unit": "us", "plot": {"measurement": ")" + measurement + R"(", "title": ")" + title +
           R"(", "at": 1}, "contenders": [{"name": "a", "value": {"median": 2, "min": 1, "max": 3}}]})";
  };
  const std::vector<Document> documents{parse_document(
      R"({"schema": "penumbra-bench/1", "machine": {}, "build": {"version": "v"}, "results": [{"benchmark": "b",
      "comparisons": [)" +
          comparison("E1", "copies by size") + "," + comparison("E1", "others") + "," + comparison("E2", "copies") +
          "," + comparison("", "the router by step") + "]}]}",
      "test")};
  const std::vector<PaperMeasurement> papers{
      parse_papers(R"({"measurement": "E1", "title": "t", "no_race": ["^copies"], "papers": []})", "test")};
  const PriceList prices = PriceList::built_in();
  std::vector<bool> races;
  for (const Plot& plot : Context(documents, papers, prices).plots) races.push_back(plot.is_race);
  EXPECT_THAT(races, ElementsAre(false, true, true, false));
}

TEST(ReportSentences, InstructionsAreNoRace) {
  const Plot plot = plot_of_curves({curve("a", {{1, 30}}), curve("b", {{1, 60}})}, "instructions an item");
  EXPECT_EQ(all_sentences(plot), "1: most 60 (b), least 30 (a).\n");
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

Spread ratio_of(const Point& of, const Point& to) {
  return ratio(of, to).value_or(Spread{});
}

TEST(ReportPlots, RatiosAreTakenRoundByRound) {
  Point of = point_at(1.0, 4), to = point_at(1.0, 2);
  EXPECT_EQ(ratio_of(of, to).median, 2);
  of.samples = {1, 10, 3};
  to.samples = {1, 1, 1};
  EXPECT_EQ(ratio_of(of, to).median, 3);
  EXPECT_EQ(ratio_of(of, to).least, 1);
  EXPECT_EQ(ratio_of(of, to).most, 10);
  to.comparison = 1;
  EXPECT_EQ(ratio_of(of, to).median, 2) << "of another comparison, whose rounds were others";
  EXPECT_EQ(ratio_of(of, to).most, 4 / to.value.least);
  to.comparison = of.comparison;
  to.samples = {1, 2};
  EXPECT_EQ(ratio_of(of, to).median, 2) << "not of the same rounds";
  to.value.median = 0;
  EXPECT_FALSE(ratio(of, to));
}

TEST(ReportPlots, RatiosOfFewSamplesLieOffAsFarAsTheirSpreads) {
  Point of = point_at(1.0, 4), to = point_at(1.0, 2);
  of.samples = {4};
  to.samples = {2};
  EXPECT_DOUBLE_EQ(ratio_of(of, to).median, 2);
  EXPECT_DOUBLE_EQ(ratio_of(of, to).least, 2 * 0.85 / 1.15);
  EXPECT_DOUBLE_EQ(ratio_of(of, to).most, 2 * 1.15 / 0.85);
}

TEST(ReportPlots, ACurveHasTheRoleOfMostOfItsPoints) {
  const auto contender = [](const std::string& name, const std::string& role) {
    return R"({"name": ")" + name + R"(", "curve": "median", "role": ")" + role + R"(", "at": ")" + name +
           R"(", "value": {"median": 1, "min": 1, "max": 1}})";
  };
  const auto plots = plots_of({parse_document(
      R"({"schema": "penumbra-bench/1", "machine": {}, "build": {"version": "v"},
      "results": [{"benchmark": "b", "comparisons": [{"title": "t", "unit": "us",
      "plot": {"measurement": "E18", "title": "p"}, "contenders": [)" +
          contender("bare", "limit") + "," + contender("gopt", "ours") + "," + contender("cuda", "ours") + "]}]}]}",
      "test")});
  const Curve& curve = plots.at(0).panels.at(0).curves.at(0);
  EXPECT_EQ(curve.role, Role::ours);
  EXPECT_TRUE(curve.has_several_roles());
  EXPECT_EQ(curve.points.at(0).role, Role::limit);
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

}  // namespace
}  // namespace penumbra::report
