// SPDX-License-Identifier: Apache-2.0
//
// Tests targets, verdicts and the values that are compared with a paper's numbers.
#include "report/verdicts.h"

#include <gmock/gmock.h>

#include "penumbra/errors.h"
#include "report/our_figure.h"
#include "report/parts.h"
#include "report/test_plots.h"

namespace penumbra::report {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

PaperMeasurement paper_with(const std::string& key, const std::string& object) {
  return parse_papers(R"({"measurement": "E6", "title": "t", "papers": [{"paper": "p", "where": "w", ")" + key +
                          R"(": [)" + object + "]}]}",
                      "test");
}

Conclusion conclusion(const std::string& check) {
  return paper_with("conclusions", R"({"says": "s", "check": )" + check + "}").papers.front().conclusions.front();
}

/// Returns a number of 1 `unit`.
PaperNumber number(const std::string& ours) {
  return paper_with("numbers", R"({"what": "w", "unit": "Gbit/s", "value": 1, "ours": )" + ours + "}")
      .papers.front()
      .numbers.front();
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
  EXPECT_THAT(fails.sentence, HasSubstr("gopt at 8 over plain loop: 3 (asked: 2 or less); it certainly holds for"));
  EXPECT_EQ(verdict(R"({"of": "gopt", "to": "plain", "at": 8, "at_least": 3})").outcome, Outcome::holds);
  EXPECT_EQ(verdict(R"({"of": "gopt", "at": "last", "to_at": "first", "at_least": 3})").outcome, Outcome::holds);
  EXPECT_EQ(verdict(R"({"of": "gopt", "to": "plain", "at": [2, 4], "at_least": 3})").outcome, Outcome::cannot_be_said);
  EXPECT_EQ(verdict(R"({"plot": "another", "of": "gopt", "at_least": 3})").outcome, Outcome::cannot_be_said);
  EXPECT_EQ(judge(conclusion(R"({"of": "gopt", "at_least": 3})"), plots, 1).outcome, Outcome::cannot_be_said)
      << "another machine has no figures";
}

TEST(ReportVerdicts, WhatRunsDifferByDecidesNothing) {
  Plot plot = plot_of_curves({curve("gopt", {{1, 21.6}, {8, 30}}), curve("plain loop", {{1, 20}, {8, 10}})});
  for (Curve& each : plot.panels.front().curves) {
    for (Point& point : each.points) point.samples = {point.value.median};
  }
  const auto verdict = [&plot](const std::string& check) { return judge(conclusion(check), {plot}, 0); };
  const Verdict open = verdict(R"({"of": "gopt", "to": "plain", "at": 1, "at_most": 1})");
  EXPECT_EQ(open.outcome, Outcome::cannot_be_said);
  EXPECT_EQ(open.sentence,
            "By the medians it does not hold, but runs may differ by more than that: a plot, gopt at 1 over "
            "plain loop: 1.08 (asked: 1 or less).");
  EXPECT_THAT(verdict(R"({"of": "gopt", "to": "plain", "at_least": 1})").sentence,
              HasSubstr("By the medians it holds"));
  EXPECT_EQ(verdict(R"({"of": "gopt", "to": "plain", "at": 8, "at_least": 1})").outcome, Outcome::holds);
  const Verdict fails = verdict(R"({"of": "gopt", "to": "plain", "at_most": 1})");
  EXPECT_EQ(fails.outcome, Outcome::does_not_hold) << "one place is enough";
  EXPECT_THAT(fails.sentence, HasSubstr("undecided, for runs may differ by more than that: a plot, gopt at 1"));
  const Verdict lead = verdict(R"({"of": "gopt", "to": "plain", "ahead_up_to": 8})");
  EXPECT_EQ(lead.outcome, Outcome::cannot_be_said);
  EXPECT_THAT(lead.sentence, HasSubstr("At 1 runs may differ by more than the two do."));
  EXPECT_EQ(verdict(R"({"of": "gopt", "to": "plain", "peak": [4, 10]})").outcome, Outcome::holds);
  EXPECT_EQ(verdict(R"({"of": "gopt", "peak": [4, 10], "to": "gopt", "to_at": 8})").outcome, Outcome::cannot_be_said);
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
  const Verdict half = verdict(R"({"of": "polling", "to": "copies", "ahead_up_to": 512, "behind_from": 5000})");
  EXPECT_EQ(half.outcome, Outcome::cannot_be_said) << "both halves are asked for";
  EXPECT_THAT(half.sentence, StartsWith("Nothing was measured from 5,000 on. a plot: polling"));
  EXPECT_EQ(verdict(R"({"of": "copies", "to": "polling", "ahead_up_to": 512, "behind_from": 5000})").outcome,
            Outcome::does_not_hold)
      << "one half that fails is enough";
}

TEST(ReportVerdicts, WhatIsAsGoodIsNotBetter) {
  const std::vector<Plot> plots{plot_of_curves({curve("a", {{1, 2}, {8, 5}}), curve("b", {{1, 1}, {8, 5}})})};
  const auto outcome = [&plots](const std::string& check) { return judge(conclusion(check), plots, 0).outcome; };
  EXPECT_EQ(outcome(R"({"of": "a", "to": "b", "ahead_up_to": 1, "behind_from": 8})"), Outcome::holds);
  EXPECT_EQ(outcome(R"({"of": "a", "to": "b", "ahead_up_to": 8})"), Outcome::does_not_hold);
}

TEST(ReportVerdicts, WithoutACurveThatIsNeededNothingIsSaid) {
  const std::vector<Plot> plots{plot_of_curves({curve("auto", {{1, 2}}), curve("gopt", {{1, 2}})})};
  const std::string check = R"({"of": "auto", "to": "gopt", "at_least": 1, "needs": ")";
  EXPECT_EQ(judge(conclusion(check + "cuda\"}"), plots, 0).outcome, Outcome::cannot_be_said);
  EXPECT_EQ(judge(conclusion(check + "cuda|gopt\"}"), plots, 0).outcome, Outcome::holds);
}

TEST(ReportVerdicts, WhereTheGreatestIs) {
  const std::vector<Plot> plots{
      plot_of_curves({curve("gopt", {{10, 2}, {300, 3}, {2000, 1}}), curve("plain", {{10, 1}, {300, 1}, {2000, 1}})})};
  EXPECT_EQ(judge(conclusion(R"({"of": "gopt", "to": "plain", "peak": [150, 600]})"), plots, 0).outcome,
            Outcome::holds);
  EXPECT_EQ(judge(conclusion(R"({"of": "gopt", "to": "plain", "peak": [1, 20]})"), plots, 0).outcome,
            Outcome::does_not_hold);
  EXPECT_THAT(judge(conclusion(R"({"of": "gopt", "to": "plain", "peak": [1, 3000]})"), plots, 0).sentence,
              HasSubstr("All that was measured lies inside."));
  Plot open = plots.front();
  // As great as any ratio, in one of the rounds.
  open.panels.front().curves.front().points.back().samples = {0.5, 1, 4};
  EXPECT_EQ(judge(conclusion(R"({"of": "gopt", "to": "plain", "peak": [150, 600]})"), {open}, 0).outcome,
            Outcome::cannot_be_said);
}

TEST(ReportVerdicts, ARatioComparedWithTheSameElsewhere) {
  Plot plot = plot_of_curves({curve("cuda", {{16'000, 40}, {4'000'000, 30}}),
                              curve("gopt", {{16'000, 20}, {4'000'000, 10}}), curve("cuda,mapped=1", {{16'000, 60}})});
  const auto verdict = [&plot](const std::string& check) { return judge(conclusion(check), {plot}, 0); };
  const std::string check = R"({"of": "^cuda$", "to": "gopt", "at": "last", "than_at": "first", )";
  const Verdict holds = verdict(check + R"("at_least": 1.5})");
  EXPECT_EQ(holds.outcome, Outcome::holds);
  EXPECT_EQ(holds.sentence,
            "a plot, cuda over gopt at 4,000,000, over the same at 16,000: 1.50 (asked: 1.50 or more).");
  EXPECT_EQ(verdict(check + R"("at_most": 1.4})").outcome, Outcome::does_not_hold);
  EXPECT_THAT(verdict(R"({"of": "cuda", "to": "gopt", "at": "last", "than_at": "first", "at_most": 1})").sentence,
              HasSubstr("cuda over gopt at 4,000,000, over cuda,mapped=1 over gopt at 16,000: 1 ("))
      << "another curve is best there";
  EXPECT_THAT(
      verdict(R"({"of": "cuda", "of_each": true, "to": "gopt", "at": "last", "than_at": "first", "at_most": 2})")
          .sentence,
      StartsWith("a plot, cuda over gopt at 4,000,000, over the same at 16,000: 1.50 ("));
  EXPECT_EQ(verdict(R"({"of": "^cuda$", "to": "gopt", "at": "last", "than_at": "last", "at_most": 2})").outcome,
            Outcome::cannot_be_said)
      << "the place itself";
  // 3 is between 2.4 and 3.6 in some round, and 2 between 1.8 and 2.2. The ratio ranges from 2.4 / 2.2 to 3.6 / 1.8.
  plot.panels.front().curves[0].points[0].samples = {36, 40, 44};
  plot.panels.front().curves[0].points[1].samples = {24, 30, 36};
  for (Point& point : plot.panels.front().curves[1].points) point.samples.assign(3, point.value.median);
  EXPECT_EQ(verdict(check + R"("at_least": 1.08})").outcome, Outcome::holds);
  EXPECT_EQ(verdict(check + R"("at_least": 1.12})").outcome, Outcome::cannot_be_said);
  EXPECT_EQ(verdict(check + R"("at_most": 1.95})").outcome, Outcome::cannot_be_said);
}

TEST(ReportVerdicts, OfSentencesThatAreOursDoNotCount) {
  const PaperMeasurement papers = paper_with("conclusions", R"({"says": "it is fast", "why_not": "so"},
                                             {"says": "we <too>", "is_ours": true, "why_not": "so"})");
  EXPECT_EQ(count_verdicts(papers, {}, 0).open, 1U);
  const std::vector<Document> documents(1);
  const std::vector<PaperMeasurement> all{papers};
  const PriceList prices = PriceList::built_in();
  const std::string part = papers_part(Context(documents, all, prices), papers);
  EXPECT_THAT(part, HasSubstr("<p>it is fast</p>"));
  EXPECT_THAT(part, HasSubstr("<p><small>not the paper&#39;s:</small> we &lt;too&gt;</p><ul class=\"verdicts\">"));
}

TEST(ReportTargets, AtTheBestPlace) {
  const std::vector<Plot> plots{plot_of_curves({curve("cuda", {{1, 90}, {8, 50}}), curve("gopt", {{1, 1}, {8, 5}})})};
  const auto verdict = [&plots](const std::string& check) { return judge(conclusion(check), plots, 0).sentence; };
  EXPECT_THAT(verdict(R"({"of": "cuda", "at": "best", "to": "gopt", "to_at": 8, "at_least": 1})"),
              HasSubstr("cuda at 1 over gopt at 8: 18 "));
}

TEST(ReportTargets, EveryCurveForItself) {
  const std::vector<Plot> plots{
      plot_of_curves({curve("1 worker", {{0, 10}, {500, 1}}), curve("4 workers", {{0, 30}, {500, 60}})})};
  const std::string sentence =
      judge(conclusion(R"({"of": "worker", "of_each": true, "at": "last", "to_at": "first", "at_least": 1})"), plots, 0)
          .sentence;
  EXPECT_THAT(sentence, HasSubstr("1 worker at 500 over 1 worker at 0: 0.1 (asked"));
  EXPECT_THAT(sentence, HasSubstr("4 workers at 500 over 4 workers at 0: 2."));
}

TEST(ReportTargets, OfAnotherPlotInTheSameUnit) {
  Plot cores = plot_of_curves({{"16 cores", Role::ours, {point_at("", 100)}}}), times = cores;
  cores.title = times.title = "on the CPU";
  times.unit = "us";
  const std::vector<Plot> plots{times, plot_of_curves({curve("GPU", {{1024, 300}, {8192, 200}})}), cores};
  EXPECT_THAT(judge(conclusion(R"({"plot": "a plot", "of": "GPU", "at": "best", "to": "cores", "to_plot": "on the CPU",
                                   "at_least": 2})"),
                    plots, 0)
                  .sentence,
              HasSubstr("GPU at 1,024 over 16 cores (on the CPU): 3 "));
  EXPECT_EQ(
      judge(conclusion(R"({"of": "GPU", "to": "cores", "to_plot": "elsewhere", "at_least": 2})"), plots, 0).outcome,
      Outcome::cannot_be_said);
}

TEST(ReportTargets, WhereNothingCameBackNothingWasMeasured) {
  const std::vector<Plot> plots{plot_of_curves({curve("cuda", {{1, 90}, {8, 80}}), curve("gopt", {{1, 45}, {8, 0}})})};
  const Verdict verdict = judge(conclusion(R"({"of": "cuda", "to": "gopt", "at_most": 2})"), plots, 0);
  EXPECT_EQ(verdict.outcome, Outcome::holds);
  EXPECT_EQ(judge(conclusion(R"({"of": "gopt", "at": "last", "at_least": 45})"), plots, 0).outcome, Outcome::holds);
}

TEST(ReportOurFigure, FiguresInThePapersUnit) {
  const std::vector<Plot> plots{plot_of_curves({curve("tuple", {{256, 30}})})};
  const auto found = our_figure(number(R"({"of": "tuple", "at": 256, "scale": 0.672})"), std::nullopt, plots, 0);
  ASSERT_TRUE(found && found->value);
  EXPECT_DOUBLE_EQ(*found->value, 20.16);
  EXPECT_EQ(found->what, "a plot, tuple at 256 (0.672 Gbit/s to each of the M items/s)");
  EXPECT_FALSE(our_figure(number(R"({"measurement": "E7", "of": "tuple"})"), std::nullopt, plots, 0))
      << "another's plots";
  EXPECT_FALSE(our_figure(number(R"({"of": "tuple"})"), std::nullopt, plots, 1)) << "another machine";
}

TEST(ReportOurFigure, TheGreatestOfSeveralFigures) {
  const std::vector<Plot> plots{plot_of_curves({curve("tuple", {{1, 10}, {8, 30}, {64, 20}})})};
  const auto value = [&plots](const std::string& ours) {
    const auto found = our_figure(number(ours), std::nullopt, plots, 0);
    return found ? found->value : std::nullopt;
  };
  EXPECT_EQ(value(R"({"of": "tuple"})"), 10);
  EXPECT_EQ(value(R"({"of": "tuple", "greatest": true})"), 30);
}

TEST(ReportOurFigure, AtAnEndOfWhatWasMeasuredItMayLieBeyond) {
  const std::vector<Plot> plots{
      plot_of_curves({curve("gopt", {{1, 2}, {10, 4}, {100, 2}}), curve("plain", {{1, 1}, {10, 1}, {100, 1}})})};
  const auto open = [&plots](const std::string& place_of, const std::string& at_least) {
    const auto found = our_figure(
        number(R"({"of": "gopt", "to": "plain", "place_of": ")" + place_of + R"(", "at_least": )" + at_least + "}"),
        std::nullopt, plots, 0);
    return found ? std::string(found->open) : "nothing";
  };
  EXPECT_EQ(open("last", "2"), " or more");
  EXPECT_EQ(open("last", "3"), "");
  EXPECT_EQ(open("first", "2"), " or less");
  EXPECT_EQ(open("first", "3"), "");
  EXPECT_EQ(open("first", "5"), "") << "there is no such place";
}

TEST(ReportOurFigure, PlacesThatFiguresPointOut) {
  const std::vector<Plot> plots{
      plot_of_curves({curve("gopt", {{10, 2}, {100, 8}, {1000, 1}}), curve("plain", {{10, 1}, {100, 2}, {1000, 2}}),
                      curve("slow", {{10, 1}, {100, 1}, {1000, 0.5}})})};
  const auto place = [&plots](const std::string& to, const std::string& of_what) {
    const auto found = our_figure(number(R"({"of": "gopt", "to": ")" + to + R"(", "place_of": )" + of_what + "}"),
                                  std::nullopt, plots, 0);
    return found ? found->value : std::nullopt;
  };
  EXPECT_EQ(place("plain", "\"greatest\""), 100);
  EXPECT_EQ(place("plain", R"("first", "at_least": 2)"), 10);
  EXPECT_EQ(place("plain", R"("last", "at_least": 2)"), 100);
  EXPECT_EQ(place("plain", R"("last", "at_least": 9)"), std::nullopt);
  EXPECT_NEAR(place("plain", "\"crossing\"").value_or(0), 464, 1);
  EXPECT_EQ(place("slow", "\"crossing\""), std::nullopt);
}

TEST(ReportPapers, MistakesAreNamed) {
  for (const char* check :
       {"{}", R"({"peak": [1]})", R"({"of": "a", "ahead_up_to": 3})", R"({"of": "a", "than_at": 1, "at_most": 3})",
        R"({"of": "a", "to": "b", "than_at": 1, "ahead_up_to": 3})",
        R"({"of": "a", "to": "b", "than_at": 1, "to_at": 2, "at_most": 3})",
        R"({"of": "a", "to": "b", "than_at": 1, "to_plot": "p", "at_most": 3})"}) {
    EXPECT_THROW(conclusion(check), InputError) << check;
  }
  EXPECT_THROW(number(R"({"of": "a", "place_of": "nowhere"})"), InputError);
  EXPECT_THROW(number(R"({"of": "a", "to": "b", "place_of": "first"})"), InputError) << "of how much?";
  EXPECT_THROW(paper_with("numbers", R"({"what": "w", "unit": "u", "value": 1})"), InputError)
      << "neither ours nor why there is none";
}

}  // namespace
}  // namespace penumbra::report
