// SPDX-License-Identifier: Apache-2.0
//
// Tests the sentences about plots: the leaders, and the places where curves cross.
#include "report/sentences.h"

#include <gmock/gmock.h>

#include "report/crossings.h"
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

TEST(ReportSentences, WhereTheBestAreLevelNobodyLeads) {
  const auto text = [](std::vector<std::pair<double, double>> of_a) {
    return all_sentences(plot_of_curves({curve("a", of_a), curve("b", {{1, 100}, {2, 100}, {4, 100}})}));
  };
  EXPECT_THAT(text({{1, 200}, {2, 100.4}, {4, 200}}),
              StartsWith("a is ahead from 1 to 4 (level at 2), by 2 times over the next best.\n"));
  EXPECT_THAT(text({{1, 100.4}, {2, 200}, {4, 50}}), StartsWith("Ahead: a at 2 and b at 4 (level at 1), by 2 times"));
  EXPECT_THAT(text({{1, 100}, {2, 200}, {4, 200}}), StartsWith("a is ahead from 2 to 4 (level at 1), by"));
  EXPECT_THAT(text({{1, 99.7}, {2, 100}, {4, 100.3}}), StartsWith("The best two are level throughout, from 1 to 4.\n"));
  EXPECT_THAT(text({{1, 200}, {2, 100.4}, {4, 50}}), HasSubstr("The lead changes near 2."));
  const Curve a{"a", Role::ours, {point_at("x", 3), point_at("y", 1), point_at("z", 3)}};
  const Curve b{"b", Role::ours, {point_at("x", 1), point_at("y", 1), point_at("z", 1)}};
  EXPECT_THAT(all_sentences(plot_of_curves({a, b})), StartsWith("a is ahead at x and z (level at y), by 3 times"));
  const Plot apart = plot_of_curves({curve("a", {{1, 100}}), curve("b", {{2, 100.3}})});
  EXPECT_EQ(all_sentences(apart), "b at its best (100 at 2) and a at its best (100 at 1) are level.\n");
}

TEST(ReportSentences, LeadsAreTakenRoundByRound) {
  Plot plot = plot_of_curves({curve("a", {{1, 20}, {2, 20}}), curve("b", {{1, 10}, {2, 10}}, Role::rival)});
  std::vector<Curve>& curves = plot.panels.front().curves;
  for (Point& point : curves[0].points) point.samples = {20, 15, 40};
  for (Point& point : curves[1].points) point.samples = {5, 10, 10};
  curves[1].points[1].comparison = 1;
  EXPECT_EQ(all_sentences(plot),
            "a is ahead throughout, from 1 to 2, by 2 to 4 times over the next best.\n"
            "The best of ours is 2 (at 2) to 4 (at 1) times as good as the best rival (b).\n");
  plot.unit = "us";
  EXPECT_THAT(all_sentences(plot), StartsWith("b is ahead throughout, from 1 to 2; the next best takes 2 to 4 times"));
  for (Point& point : curves[0].points) point.samples = {20, 4, 4};
  curves[1].points.pop_back();
  EXPECT_THAT(all_sentences(plot), StartsWith("The best two are level at 1")) << "the rounds have it another way round";
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

TEST(ReportSentences, InstructionsAreNoRace) {
  const Plot plot = plot_of_curves({curve("a", {{1, 30}}), curve("b", {{1, 60}})}, "instructions an item");
  EXPECT_EQ(all_sentences(plot), "1: most 60 (b), least 30 (a).\n");
}

}  // namespace
}  // namespace penumbra::report
