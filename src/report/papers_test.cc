// SPDX-License-Identifier: Apache-2.0
//
// bench/papers, as they are built in, beside the results that are kept.
#include "report/papers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "report/beside.h"
#include "report/targets.h"
#include "report/test_plots.h"
#include "report/verdicts.h"

namespace penumbra::report {
namespace {

using testing::HasSubstr;

/// bench/results and bench/results/more.
std::vector<Document> kept_results() {
  std::vector<Document> all;
  const std::filesystem::path folder = std::filesystem::path(PENUMBRA_SOURCE_FOLDER) / "bench/results";
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
            const auto found = beside(number, at, plots, document);
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

/// As bench/gpu/classification.cc calls them.
TEST(ReportPapers, ClassificationIsFoundAtTheCoresThatThePaperHas) {
  Plot plot = plot_of_curves({curve("the bus beside cuda", {{1, 9000}, {8, 9000}}, Role::limit),
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
  const auto all = built_in_papers();
  const auto measurement = std::ranges::find(all, "E14", &PaperMeasurement::measurement);
  ASSERT_NE(measurement, all.end());
  const Paper& paper = measurement->papers.front();
  const auto ratio_of = [&](const std::string& what) {
    const auto number = std::ranges::find(paper.numbers, what, &PaperNumber::what);
    const auto found = find(number->ours.value(), plots, 0);
    return found.size() == 1 ? found.front().value.median : 0;
  };
  EXPECT_EQ(ratio_of("tuple search, GPU over 8 cores"), 18) << "the GPU where it is best";
  EXPECT_EQ(ratio_of("Bloom search, GPU over 8 cores"), 30);
  const Verdict verdict = judge(paper.conclusions.back(), plots, 0);
  EXPECT_EQ(verdict.outcome, Outcome::holds);
  EXPECT_THAT(verdict.sentence,
              HasSubstr("bloom by cuda, batches of 65536 at 1 over bloom by gopt, batches of 256 at 8: 30 "));
}

}  // namespace
}  // namespace penumbra::report
