// SPDX-License-Identifier: Apache-2.0
//
// Tests drawings of plots, their files and legends.
#include "report/plot_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "report/legend.h"
#include "report/test_plots.h"

namespace penumbra::report {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

std::string comparison(const std::string& measurement, const std::string& title, const std::string& unit) {
  return fmt::format(R"({{"title": "t", "unit": "{}", "plot": {{"measurement": "{}", "title": "{}", "x": "table",
    "x_unit": "B", "at": 4096}}, "contenders": [{{"name": "gopt", "value": {{"median": 2, "min": 1, "max": 3}}}},
    {{"name": "<AMAC>", "role": "rival", "value": {{"median": 1, "min": 1, "max": 1}}}}]}})",
                     unit, measurement, title);
}

Document document(const std::string& processor, const std::string& comparisons) {
  return parse_document(fmt::format(R"({{"schema": "penumbra-bench/1", "machine": {{"processor": "{}"}},
    "build": {{"version": "v"}}, "results": [{{"benchmark": "b", "comparisons": [{}]}}]}})",
                                    processor, comparisons),
                        "test");
}

std::vector<PlotFile> files_of(const std::vector<Document>& documents) {
  const PriceList prices = PriceList::built_in();
  const std::vector<PaperMeasurement> papers;
  return plot_files(Context(documents, papers, prices));
}

std::vector<std::string> names_of(const std::string& comparisons) {
  std::vector<std::string> names;
  for (const PlotFile& file : files_of({document("x", comparisons)})) names.push_back(file.name);
  return names;
}

TEST(ReportPlotFiles, AreCalledAfterMeasurementAndTitle) {
  EXPECT_THAT(names_of(comparison("E6", "Cuckoo by the table's size, 1 GiB!", "us")),
              ElementsAre("e06-cuckoo-by-the-tables-size-1-gib.svg"));
  EXPECT_THAT(names_of(comparison("E22", "../../\u00e4", "us")), ElementsAre("e22.svg"));
  EXPECT_THAT(names_of(comparison("b", "batches of 64", "us")), ElementsAre("b-batches-of-64.svg"));
  EXPECT_THAT(names_of(comparison("E6", std::string(1000, 'a'), "us")), ElementsAre(SizeIs(104)));
}

TEST(ReportPlotFiles, HaveTheUnitInTheirNamesWhereTitlesAreTheSame) {
  EXPECT_THAT(names_of(comparison("E7", "instructions", "an item") + "," + comparison("E7", "others", "us") + "," +
                       comparison("E7", "instructions", "a cycle")),
              ElementsAre("e07-instructions-an-item.svg", "e07-others.svg", "e07-instructions-a-cycle.svg"));
  EXPECT_THAT(names_of(comparison("E7", "a", "us.") + "," + comparison("E7", "a", "us!")),
              ElementsAre("e07-a-us.svg", "e07-a-us-2.svg"));
}

TEST(ReportPlotFiles, AreCompleteInThemselves) {
  const auto files = files_of(
      {document("Xeon", comparison("E6", "a title", "us")), document("EPYC", comparison("E6", "a title", "us"))});
  ASSERT_THAT(files, SizeIs(1));
  const std::string& text = files.front().text;
  EXPECT_THAT(text, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(text, EndsWith("</svg>\n"));
  for (const char* part : {">E6: a title<", ">A: Xeon<", ">B: EPYC<", "&lt;AMAC&gt; (rival)<", "prefers-color-scheme",
                           "class=\"back\"", "class=\"spread\"", ">us<", ">table: 4 KiB<"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("href"))) << "it loads nothing";
}

TEST(ReportPlotFiles, TablesAreNone) {
  const Document tables = parse_document(R"({"schema": "penumbra-bench/1", "machine": {}, "build": {"version": "v"},
    "results": [{"benchmark": "b", "comparisons": [{"title": "t", "unit": "us", "contenders": []}]}]})",
                                         "test");
  EXPECT_THAT(files_of({tables}), IsEmpty());
}

Plot plot_of(const std::vector<std::string>& curves, const std::vector<Place>& places) {
  Plot plot;
  plot.unit = "us";
  plot.panels.resize(1);
  for (const std::string& name : curves) {
    Curve curve{name, Role::ours, {}};
    for (const Place& place : places) curve.points.push_back({place, "", {2, 1, 3}, {2}, std::nullopt});
    plot.panels.front().curves.push_back(curve);
  }
  return plot;
}

std::string drawing_of(const Plot& plot, const std::vector<PaperSeries>& papers = {}) {
  return Chart(plot, papers, Looks({&plot})).draw(plot.panels.front()).marks;
}

TEST(ReportCharts, AreLargeWhereTheyHaveManyLines) {
  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h"};
  const Plot many = plot_of(names, {1.0, 2.0}), few = plot_of({"a"}, {1.0, 2.0}), rows = plot_of(names, {1.0});
  const Looks looks({&many, &few, &rows});
  EXPECT_TRUE(Chart(many, {}, looks).is_large());
  EXPECT_GT(Chart(many, {}, looks).width(), Chart(few, {}, looks).width());
  EXPECT_FALSE(Chart(rows, {}, looks).is_large()) << "there each has a row";
}

TEST(ReportCharts, LabelsOfRowsHaveRoom) {
  EXPECT_THAT(drawing_of(plot_of({"a"}, {"1000 generated rules", "few"})), HasSubstr(">1000 generated rules</text>"));
  EXPECT_THAT(drawing_of(plot_of({"a"}, {std::string(100, 'x'), "few"})), HasSubstr("x\u2026</text>"));
}

TEST(ReportCharts, LongNamesOfAxesEndAtTheirEnd) {
  Plot plot = plot_of({"a"}, {"words", "others"});
  EXPECT_THAT(drawing_of(plot), HasSubstr("text-anchor=\"middle\" class=\"name\">us</text>"));
  plot.unit = "instructions a tick of the time stamp counter";
  EXPECT_THAT(drawing_of(plot), HasSubstr("text-anchor=\"end\" class=\"name long\">" + plot.unit + "</text>"));
}

TEST(ReportCharts, PapersHaveTheColourOfWhatTheyAreHeldAgainst) {
  const Plot plot = plot_of({"scalar", "gopt"}, {1.0, 2.0});
  EXPECT_THAT(drawing_of(plot, {{"p", "gopt", {{1, 2}}}}), HasSubstr("<g class=\"paper c1\">"));
  EXPECT_THAT(drawing_of(plot, {{"p", "", {{1, 2}}}}), HasSubstr("<g class=\"paper\">"));
}

TEST(ReportCharts, LongLabelsOfRowsHaveTwoLines) {
  const Plot plot = plot_of({"a"}, {"bare kernel, a number in each 16 bytes", "few"});
  EXPECT_THAT(drawing_of(plot), HasSubstr(">bare kernel, a number in</text>"));
  EXPECT_THAT(drawing_of(plot), HasSubstr(">each 16 bytes</text>"));
  EXPECT_THAT(drawing_of(plot), Not(HasSubstr("\u2026")));
}

/// The other machine still has lines.
TEST(ReportCharts, OnePlaceOfAMachineIsDrawnAsRows) {
  Plot plot = plot_of({"gopt", "scalar"}, {1.0, 4.0});
  plot.x = "workers";
  plot.panels.push_back(plot_of({"gopt", "scalar"}, {1.0}).panels.front());
  plot.panels.back().document = 1;
  const Looks looks({&plot});
  const Chart chart(plot, {}, looks);
  EXPECT_THAT(chart.draw(plot.panels[0]).marks, HasSubstr("class=\"line\""));
  const std::string rows = chart.draw(plot.panels[1]).marks;
  EXPECT_THAT(rows, Not(HasSubstr("class=\"line\"")));
  EXPECT_THAT(rows, HasSubstr(">workers: 1</text>"));
  EXPECT_THAT(rows, HasSubstr(">scalar</text>"));
}

TEST(ReportCharts, CurvesUnderOthersHaveARim) {
  const Plot same = plot_of({"gopt", "scalar"}, {1.0, 4.0}), one = plot_of({"gopt"}, {1.0, 4.0});
  EXPECT_THAT(drawing_of(same), HasSubstr("class=\"rim\""));
  EXPECT_THAT(drawing_of(same), HasSubstr("r=\"5.0\""));
  EXPECT_THAT(drawing_of(one), Not(HasSubstr("class=\"rim\"")));
  EXPECT_THAT(drawing_of(one), HasSubstr("r=\"3.6\""));
}

/// Two labels must not touch: "1,000" and "2,000", not "1,0002,000".
TEST(ReportCharts, LabelsOfAnAxisHaveAGap) {
  const auto drawing = [](const std::string& row) {
    Plot plot = plot_of({"a"}, {row, "others"});
    plot.panels.front().curves.front().points = {point_at(row, 20), point_at("others", 1900)};
    return drawing_of(plot);
  };
  EXPECT_THAT(drawing("short"), HasSubstr(">2,000</text>"));
  EXPECT_THAT(drawing("as long as a label may be"), Not(HasSubstr(">2,000</text>")));
  EXPECT_THAT(drawing("as long as a label may be"), HasSubstr(">1,000</text>"));
}

TEST(ReportLegends, HaveAsManyLinesAsTheyNeed) {
  const LegendKey key{"<g/>", "twelve words", ""};
  EXPECT_EQ(legend_drawing({}, 300).height, 0);
  const double one_line = legend_drawing({key, key}, 300).height;
  EXPECT_EQ(legend_drawing({key}, 300).height, one_line);
  EXPECT_EQ(legend_drawing({key, key, key}, 300).height, 2 * one_line);
  EXPECT_THAT(legend_drawing({{"", std::string(1000, 'a'), ""}}, 300).marks, HasSubstr("\u2026</text>"));
}

}  // namespace
}  // namespace penumbra::report
