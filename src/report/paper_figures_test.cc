// SPDX-License-Identifier: Apache-2.0
//
// Tests the papers' figures: at their plots, in the index, and in the files that name them.
#include "report/paper_figures.h"

#include <gmock/gmock.h>

#include "penumbra/errors.h"
#include "report/parts.h"
#include "report/test_plots.h"
#include "testing/message_of.h"

namespace penumbra::report {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Returns E13 with a paper with figures and a paper without.
PaperMeasurement measurement_with(const std::string& figures) {
  return parse_papers(R"json({"measurement": "E13", "title": "t", "papers": [
    {"paper": "GSwitch (IEEE/ACM ToN 2016)", "where": "section VII", "figures": [)json" +
                          figures + R"json(]}, {"paper": "G-Opt (NSDI 2015)", "where": "figure 7, section 3"}]})json",
                      "E13.json");
}

/// Returns E13 with a plot for each title.
Document document_with(const std::vector<std::string>& titles, const std::string& unit = "M headers/s") {
  Document document;
  document.file = "results.json";
  Entry& entry = document.entries.emplace_back();
  entry.benchmark = "classify";
  entry.measurements = {"E13"};
  for (const std::string& title : titles) {
    Comparison& comparison = entry.comparisons.emplace_back();
    comparison.title = title + ", one place";
    comparison.unit = unit;
    comparison.plot = PlotPlace{"E13", title, "classes", "", Place(1.0)};
    comparison.contenders.push_back({});
    comparison.contenders.back().name = comparison.contenders.back().curve = "bloom";
    comparison.contenders.back().value = {1, 1, 1};
  }
  return document;
}

/// The output for a paper's figures and results.
struct Made {
  std::vector<PaperMeasurement> papers;
  std::vector<Document> documents;
  PriceList prices = PriceList::built_in();

  std::string index() const { return papers_index(Context(documents, papers, prices)); }
  std::string plots() const {
    const Context context(documents, papers, prices);
    return plots_part(context, context.plots, nullptr);
  }
};

TEST(ReportPaperFigures, StandInTheIndexByNumberAndLetter) {
  const Made made{
      {measurement_with(R"json({"figure": "table 1", "plot": "rules"}, {"figure": "figure 10", "plot": "rules"},
                                       {"figure": "figure 8(b), top", "plot": "rules"},
                                       {"figure": "figure 8(b), bottom", "plot": "rules"},
                                       {"figure": "figure 8(a)", "plot": "rules"})json")},
      {document_with({"8 K rules"})}};
  const std::string index = made.index();
  std::vector<std::size_t> at;
  for (const char* figure :
       {"<li>figure 8(a) ", "<li>figure 8(b), top", "<li>figure 8(b), bottom", "<li>figure 10 ", "<li>table 1 "}) {
    at.push_back(index.find(figure));
  }
  EXPECT_TRUE(std::ranges::is_sorted(at)) << index;
  EXPECT_NE(at.back(), std::string::npos) << index;
}

TEST(ReportPaperFigures, ThatAreNotListedShowNoMeasurement) {
  const Made made{{measurement_with("")}, {}};
  EXPECT_THAT(made.index(), HasSubstr("By paper</h3><p class=\"about\">What is not listed shows no measurement of "
                                      "theirs.</p><dl>"));
  EXPECT_EQ(Made({}, {}).index(), "");
}

TEST(ReportPaperFigures, LeadToTheirPlotsWhichSayTheirNumbers) {
  const Made made{
      {measurement_with(
          R"json({"figure": "figure 8(a)", "plot": "^1 K rules"}, {"figure": "figure 9", "plot": "GPU$"})json")},
      {document_with({"8 K rules", "1 K rules", "1 K rules, by a GPU"})}};
  const std::string index = made.index(), plots = made.plots();
  EXPECT_THAT(index, HasSubstr("<li>figure 8(a) \u2192 E13: <a href=\"#E13-2\">1 K rules</a>; "
                               "<a href=\"#E13-3\">1 K rules, by a GPU</a></li>"));
  EXPECT_THAT(index, HasSubstr("<li>figure 9 \u2192 E13: <a href=\"#E13-3\">1 K rules, by a GPU</a></li>"));
  EXPECT_THAT(plots, HasSubstr("<figure id=\"E13-1\"><figcaption><h3>8 K rules</h3></figcaption>"));
  EXPECT_THAT(plots, HasSubstr("<figure id=\"E13-2\"><figcaption><h3>1 K rules</h3>"
                               "<small>GSwitch, figure 8(a)</small></figcaption>"));
  EXPECT_THAT(plots, HasSubstr("<h3>1 K rules, by a GPU</h3><small>GSwitch, figure 8(a), figure 9</small>"));
}

TEST(ReportPaperFigures, LeadToTheirSectionWithoutAPlot) {
  const Made made{{measurement_with(R"json({"figure": "figure 8(b)", "plot": "^8 K rules"},
                                       {"figure": "figure 5(a)", "why_not": "copies <overlap>"},
                                       {"figure": "figure 6", "measurement": "E14", "plot": "1 K rules"})json")},
                  {document_with({"1 K rules"})}};
  const std::string index = made.index();
  EXPECT_THAT(index, HasSubstr("<li>figure 8(b) \u2192 <a href=\"#E13\">E13</a></li>"));
  EXPECT_THAT(index,
              HasSubstr("<li>figure 5(a) \u2192 <a href=\"#E13\">E13</a>, no plot: copies &lt;overlap&gt;</li>"));
  EXPECT_THAT(index, HasSubstr("<li>figure 6 \u2192 <a href=\"#E14\">E14</a>; what the paper says of it: "
                               "<a href=\"#E13\">E13</a></li>"));
  EXPECT_THAT(index, Not(HasSubstr("section VII"))) << "its figures stand for it";
  EXPECT_THAT(index, HasSubstr("<li>figure 7, section 3 \u2192 <a href=\"#E13\">E13</a></li>")) << "it has none";
  EXPECT_THAT(made.plots(), Not(HasSubstr("<small>GSwitch")));
}

TEST(ReportPaperFigures, SayWhatOfThemThePlotDoesNotHave) {
  const Made made{{measurement_with(R"json({"figure": "figure 6(a)", "plot": "rules", "but": "by threads <of ours>"},
                                       {"figure": "figure 6(b)", "plot": "rules"},
                                       {"figure": "figure 6(c)", "plot": "rules", "but": "by threads <of ours>"},
                                       {"figure": "figure 7", "plot": "^8 K rules", "but": "by IPv4"})json")},
                  {document_with({"1 K rules"})}};
  const std::string index = made.index();
  EXPECT_THAT(index, HasSubstr("1 K rules</a> <small>but by threads &lt;of ours&gt;</small></li>"));
  EXPECT_THAT(index, HasSubstr("<li>figure 6(b) \u2192 E13: <a href=\"#E13-1\">1 K rules</a></li>"));
  EXPECT_THAT(index, HasSubstr("<li>figure 7 \u2192 <a href=\"#E13\">E13</a></li>")) << "these results have no plot";
  EXPECT_THAT(made.plots(), HasSubstr("<small>GSwitch, figure 6(a), figure 6(c), but by threads &lt;of ours&gt;; "
                                      "GSwitch, figure 6(b)</small>"));
}

TEST(ReportPaperFigures, OfSeveralPapersStandAtOnePlot) {
  const PaperMeasurement other = parse_papers(
      R"json({"measurement": "E6", "title": "t", "papers": [{"paper": "Intel, GPUs (NetSoft 2016)", "where": "figure 5",
          "figures": [{"figure": "figure 5", "measurement": "E13", "plot": "rules"}]}]})json",
      "E06.json");
  const Made made{{other, measurement_with(R"json({"figure": "figure 7", "plot": "rules"})json")},
                  {document_with({"1 K rules"})}};
  EXPECT_THAT(made.plots(), HasSubstr("<small>Intel, GPUs, figure 5; GSwitch, figure 7</small>"));
}

TEST(ReportPaperFigures, AreOfAUnit) {
  Document document = document_with({"chains"});
  document.entries.push_back(document_with({"chains"}, "times").entries.front());
  const Made made{{measurement_with(R"json({"figure": "figure 4", "plot": "chains", "unit": "^times"})json")},
                  {document}};
  EXPECT_THAT(made.index(), HasSubstr("<li>figure 4 \u2192 E13: <a href=\"#E13-2\">chains, times</a></li>"));
  EXPECT_THAT(made.plots(), HasSubstr("<h3>chains, M headers/s</h3></figcaption>"));
}

TEST(ReportPaperFigures, StandAtTablesToo) {
  Document document = document_with({"1 K rules"});
  document.entries.front().comparisons.front().plot.reset();
  const Made made{{measurement_with(R"json({"figure": "table 1", "plot": "1 K rules"})json")}, {document}};
  EXPECT_THAT(made.plots(), HasSubstr("id=\"E13-1\"><h4>1 K rules, one place</h4><small>GSwitch, table 1</small>"));
}

TEST(ReportPaperFigures, ThatAreNotAsTheyMustBe) {
  const auto error_of = [](const std::string& figure) -> std::string {
    return message_of([&] { measurement_with(figure); });
  };
  const std::string place = "E13.json: papers[0].figures[0]";
  EXPECT_THAT(error_of(R"json({"plot": "rules"})json"), HasSubstr(place + ": the key 'figure' is missing"));
  EXPECT_THAT(error_of(R"json({"figure": "figure 1"})json"), HasSubstr(place + ": expected `plot` or `why_not`"));
  EXPECT_THAT(error_of(R"json({"figure": "figure 1", "plot": "rules", "why_not": "so"})json"),
              HasSubstr(place + ": expected `plot` or `why_not`"));
  EXPECT_THAT(
      error_of(R"json({"figure": "figure 1", "plots": "rules"})json"),
      HasSubstr(place + ".plots: a figure has no such key; there are: figure, measurement, plot, unit, but, why_not"));
  EXPECT_THAT(error_of(R"json({"figure": 1, "plot": "rules"})json"), HasSubstr(place + ".figure: expected text"));
  EXPECT_THAT(error_of(R"json({"figure": "figure 1", "plot": "rules", "measurement": "E23"})json"),
              HasSubstr(place + ".measurement: expected one of E1 to E22"));
  EXPECT_THAT(error_of(R"json({"figure": "figure 1", "why_not": "so", "but": "by IPv4"})json"),
              HasSubstr(place + ".but: it goes with `plot` alone"));
  EXPECT_THAT(error_of(R"json({"figure": "", "plot": "rules"})json"), HasSubstr(place + ".figure: expected"));
}

}  // namespace
}  // namespace penumbra::report
