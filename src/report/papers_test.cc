// SPDX-License-Identifier: Apache-2.0
//
// Tests the built-in bench/papers against the kept results.
#include "report/papers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/shared_data.h"
#include "report/our_figure.h"
#include "report/paper_figures.h"
#include "report/targets.h"
#include "report/test_plots.h"
#include "report/verdicts.h"

namespace penumbra::report {
namespace {

using testing::HasSubstr;

/// Reads bench/results and bench/results/more.
std::vector<Document> kept_results() {
  std::vector<Document> all;
  const std::filesystem::path folder = source_folder() / "bench/results";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    all.push_back(parse_document(text.str(), entry.path().string()));
  }
  return all;
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

TEST(ReportPapers, WhatOursIsHeldAgainstIsInSomeKeptResults) {
  const std::vector<Document> documents = kept_results();
  ASSERT_FALSE(documents.empty());
  const std::vector<Plot> plots = plots_of(documents);
  const auto is_found = [&](const auto& finds) {
    for (std::size_t document = 0; document < documents.size(); ++document) {
      if (finds(document)) return true;
    }
    return false;
  };
  for (const PaperMeasurement& measurement : built_in_papers()) {
    for (const Paper& paper : measurement.papers) {
      for (const PaperNumber& number : paper.numbers) {
        if (!number.why_not.empty()) continue;
        for (const auto& [place, value] : number.points) {
          const auto has_value = [&, at = place](std::size_t document) {
            const auto found = our_figure(number, at, plots, document);
            return found && found->value;
          };
          EXPECT_TRUE(is_found(has_value))
              << measurement.measurement << ": " << number.what << " at " << place.value_or(0);
        }
      }
      for (const Conclusion& conclusion : paper.conclusions) {
        if (!conclusion.check || !conclusion.why_not.empty()) continue;
        const auto has_any = [&](std::size_t document) {
          return !find(conclusion.check->target, plots, document).empty();
        };
        EXPECT_TRUE(is_found(has_any)) << measurement.measurement << ": " << conclusion.says;
      }
    }
  }
}

/// Returns the figure once for each alternative of its plot's pattern.
std::vector<PaperFigure> alternatives_of(const PaperFigure& figure) {
  std::vector<PaperFigure> all;
  std::stringstream parts(figure.plot);
  for (std::string part; std::getline(parts, part, '|');) {
    all.push_back(figure);
    all.back().plot = part;
  }
  return all;
}

TEST(ReportPapers, FiguresHaveTheirPlotsInSomeKeptResults) {
  const std::vector<Plot> plots = plots_of(kept_results());
  for (const PaperMeasurement& measurement : built_in_papers()) {
    for (const Paper& paper : measurement.papers) {
      for (const PaperFigure& figure : paper.figures) {
        EXPECT_EQ(plots_of_figure(figure, plots).empty(), !figure.why_not.empty())
            << measurement.measurement << ": " << paper.paper << ", " << figure.figure;
        for (const PaperFigure& part : alternatives_of(figure)) {
          EXPECT_FALSE(plots_of_figure(part, plots).empty())
              << measurement.measurement << ": " << paper.paper << ", " << figure.figure << ": " << part.plot;
        }
      }
    }
  }
}

Paper first_paper_of(const std::string& measurement) {
  const auto all = built_in_papers();
  const auto found = std::ranges::find(all, measurement, &PaperMeasurement::measurement);
  return found == all.end() || found->papers.empty() ? Paper() : found->papers.front();
}

Conclusion conclusion_of(const std::string& measurement, const std::string& begin) {
  for (const Conclusion& each : first_paper_of(measurement).conclusions) {
    if (each.says.starts_with(begin)) return each;
  }
  ADD_FAILURE() << measurement << " has no conclusion '" << begin << "'";
  return {};
}

Plot plot_of(const std::string& measurement, const std::string& title, std::vector<Curve> curves) {
  Plot plot = plot_of_curves(std::move(curves), "M items/s");
  plot.measurement = measurement;
  plot.title = title;
  return plot;
}

TEST(ReportPapers, TheBaselineOfGoptIsPlainCode) {
  const Conclusion conclusion = conclusion_of("E8", "On one core G-Opt forwards");
  std::vector<Plot> plots{
      plot_of("E8", "ipv4",
              {curve("gopt", {{1, 20}}), curve("scalar", {{1, 19}}), curve("scalar,avx512=0", {{1, 10}})}),
      plot_of("E8", "l2", {curve("gopt", {{1, 20}}), curve("scalar", {{1, 5}})})};
  const Verdict verdict = judge(conclusion, plots, 0);
  EXPECT_EQ(verdict.outcome, Outcome::holds);
  EXPECT_THAT(verdict.sentence, HasSubstr("gopt at 1 over scalar,avx512=0: 2 "));
  EXPECT_EQ(judge(conclusion_of("E8", "On one core G-Opt switches"), plots, 0).outcome, Outcome::holds);
  plots.front().panels.front().curves.pop_back();
  const Verdict without = judge(conclusion, plots, 0);
  EXPECT_EQ(without.outcome, Outcome::cannot_be_said);
  EXPECT_THAT(without.sentence, HasSubstr("(scalar,avx512=0) is not in these results"));
}

TEST(ReportPapers, LaunchesAndTheKernelThatNeverStopsAreToldApart) {
  const std::vector<Plot> plots{plot_of(
      "E11", "IPv6, lengths",
      {curve("the bus next to cuda", {{32, 9000}, {256, 9000}}, Role::limit),
       curve("gopt, 4 threads", {{32, 100}, {256, 200}, {1024, 200}}),
       curve("gopt, 15 threads", {{32, 400}, {256, 700}, {1024, 700}}),
       curve("cuda,streams=1,gather=1, 4 threads", {{32, 2}, {256, 20}, {1024, 250}}),
       curve("cuda, 4 threads", {{32, 90}, {256, 900}}), curve("cuda,mapped=1, 4 threads", {{32, 80}, {256, 950}}),
       curve("cuda-resident,slots=24,blocks=512, 4 threads", {{32, 500}, {256, 900}})})};
  EXPECT_EQ(judge(conclusion_of("E11", "For IPv6 a GPU falls behind"), plots, 0).outcome, Outcome::holds);
  EXPECT_EQ(judge(conclusion_of("E11", "So it does where many"), plots, 0).outcome, Outcome::holds);
  EXPECT_EQ(judge(conclusion_of("E11", "So does a kernel"), plots, 0).outcome, Outcome::does_not_hold);
  const Paper paper = first_paper_of("E11");
  std::vector<OurFigure> ours;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto found = our_figure(paper.numbers.at(i), std::nullopt, plots, 0);
    ASSERT_TRUE(found) << i;
    ours.push_back(*found);
  }
  EXPECT_EQ(ours[0].value, 1024);
  EXPECT_THAT(ours[0].what, HasSubstr("cuda,streams=1,gather=1, 4 threads over gopt, 4 threads"));
  EXPECT_EQ(ours[1].value, 256);
  EXPECT_THAT(ours[1].what, HasSubstr("cuda, 4 threads over gopt, 4 threads"));
  EXPECT_EQ(ours[2].value, 32);
  EXPECT_THAT(ours[2].what, HasSubstr("cuda-resident,slots=24,blocks=512, 4 threads over"));
}

TEST(ReportPapers, AWaitIsJudgedByAsManyWorkersAsThereAre) {
  const std::vector<Plot> plots{
      plot_of("E15", "as much as goes",
              {curve("1 worker", {{0, 30}, {500, 2}}), curve("4 workers", {{0, 120}, {500, 80}}),
               curve("as many workers as cores but one", {{0, 200}, {500, 210}})})};
  EXPECT_EQ(judge(conclusion_of("E15", "A longer wait"), plots, 0).outcome, Outcome::holds);
}

TEST(ReportPapers, AGpuIsHeldAgainstAllCores) {
  const Conclusion conclusion = conclusion_of("E5", "With many accesses");
  std::vector<Plot> plots{plot_of("E5", "accesses of items from the host's memory and back to it",
                                  {curve("GPU, batches of 8192", {{1, 1000}, {16, 900}}),
                                   curve("4 cores", {{1, 600}, {16, 40}}), curve("16 cores", {{1, 2200}, {16, 140}})})};
  EXPECT_EQ(judge(conclusion, plots, 0).outcome, Outcome::holds);
  plots.front().panels.front().curves.back() = curve("16 cores", {{1, 2200}, {16, 1000}});
  EXPECT_EQ(judge(conclusion, plots, 0).outcome, Outcome::does_not_hold);
}

/// The names are those of bench/gpu/classification.cc.
TEST(ReportPapers, ClassificationIsFoundAtTheCoresThatThePaperHas) {
  Plot plot = plot_of_curves({curve("the bus next to cuda", {{1, 9000}, {8, 9000}}, Role::limit),
                              curve("tuple by gopt, batches of 256", {{1, 1}, {8, 5}}),
                              curve("tuple by cuda, batches of 65536", {{1, 90}, {8, 50}}),
                              curve("tuple by cuda-resident, batches of 1024", {{1, 2}, {8, 60}}),
                              curve("bloom by gopt, batches of 256", {{1, 2}, {8, 10}}),
                              curve("bloom by cuda, batches of 65536", {{1, 300}, {8, 140}})},
                             "M headers/s");
  plot.measurement = "E14";
  plot.title = "128 K rules of 12 fields in 512 classes";
  Plot few_rules = plot;
  few_rules.title = "acl1_1k";
  const std::vector<Plot> plots{few_rules, plot};
  const Paper paper = first_paper_of("E14");
  const auto ratio_of = [&](const std::string& what) {
    const auto number = std::ranges::find(paper.numbers, what, &PaperNumber::what);
    const auto found = find(number->ours.value(), plots, 0);
    return found.size() == 1 ? found.front().value.median : 0;
  };
  EXPECT_EQ(ratio_of("tuple search, GPU over 8 cores"), 18) << "the GPU where it is best";
  EXPECT_EQ(ratio_of("Bloom search, GPU over 8 cores"), 30);
  const Verdict verdict = judge(conclusion_of("E14", "With Bloom search"), plots, 0);
  EXPECT_EQ(verdict.outcome, Outcome::holds);
  EXPECT_THAT(verdict.sentence,
              HasSubstr("bloom by cuda, batches of 65536 at 1 over bloom by gopt, batches of 256 at 8: 30 "));
  const Verdict by_gpu = judge(conclusion_of("E13", "By a GPU too"), plots, 0);
  EXPECT_EQ(by_gpu.outcome, Outcome::holds);
  EXPECT_THAT(by_gpu.sentence, HasSubstr("over tuple by cuda, batches of 65536 at 1: 3.33 "));
}

}  // namespace
}  // namespace penumbra::report
