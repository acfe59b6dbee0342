// SPDX-License-Identifier: Apache-2.0
//
// Tests documents and plots. tests/test_report.py tests the page as a whole.
#include <gmock/gmock.h>

#include "report/context.h"
#include "report/document.h"
#include "report/parts.h"
#include "report/plot_names.h"
#include "report/plots.h"
#include "report/test_plots.h"

namespace penumbra::report {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

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

TEST(ReportDetails, WhatIsSaidSeveralTimesStandsThereOnce) {
  std::vector<Document> documents(1);
  Entry& entry = documents.front().entries.emplace_back();
  entry.benchmark = "gpu";
  entry.notes = {"width 1", "width 2", "width 1"};
  const std::vector<PaperMeasurement> papers;
  const PriceList prices = PriceList::built_in();
  EXPECT_THAT(details_part(Context(documents, papers, prices), 0, entry, ""),
              HasSubstr("<ul><li>width 1 (2 times)</li><li>width 2</li></ul>"));
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

TEST(ReportPlots, HaveIdsThatNoSectionHas) {
  std::vector<Plot> plots(0x21);
  for (Plot& plot : plots) plot.benchmark = "x";
  name_plots(plots);
  for (const Plot& plot : plots) {
    EXPECT_NE(plot.id, benchmark_id("x!"));
    EXPECT_TRUE(plot.id.starts_with(benchmark_id("x") + "_"));
  }
}

TEST(ReportPlots, TablesOfPointsSayTheUnitOfTheirPlaces) {
  const auto heading = [](const std::string& unit, const std::string& at) {
    const std::vector<Document> documents{parse_document(
        R"({"schema": "penumbra-bench/1", "machine": {}, "build": {"version": "v"}, "results": [{"benchmark": "b",
          "comparisons": [{"title": "t", "unit": "M items/s", "plot": {"measurement": "E15", "title": "p", "x": "delay",
          "x_unit": ")" +
            unit + R"(", "at": )" + at + R"(}, "contenders": [{"name": "auto",
          "value": {"median": 1, "min": 1, "max": 1}}]}]}]})",
        "test")};
    const std::vector<PaperMeasurement> papers;
    const PriceList prices = PriceList::built_in();
    const Context context(documents, papers, prices);
    const std::string page = plots_part(context, context.plots, nullptr);
    const std::size_t begin = page.find("<thead>"), end = page.find("</th>", begin);
    return page.substr(begin, end - begin);
  };
  EXPECT_THAT(heading("us", "500"), HasSubstr(">delay, us"));
  EXPECT_THAT(heading("", "500"), EndsWith(">delay"));
  EXPECT_THAT(heading("B", "500"), EndsWith(">delay")) << "each place has it";
  EXPECT_THAT(heading("us", "\"any\""), EndsWith(">delay")) << "a word has none";
}

}  // namespace
}  // namespace penumbra::report
