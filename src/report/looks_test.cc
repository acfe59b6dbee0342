// SPDX-License-Identifier: Apache-2.0
//
// Tests that curves can be distinguished: their looks, and the rims of curves that cover each other.
#include "report/looks.h"

#include <gmock/gmock.h>

#include <set>
#include <tuple>

#include "report/covered.h"
#include "report/test_plots.h"

namespace penumbra::report {
namespace {

using testing::ElementsAre;

Plot plot_of_names(const std::vector<std::string>& names, Role role = Role::ours) {
  Plot plot;
  plot.panels.resize(1);
  for (const std::string& name : names) plot.panels.front().curves.push_back(curve(name, {{1, 1}, {2, 2}}, role));
  return plot;
}

TEST(ReportLooks, EachHasAColourWhileThereAreEnough) {
  const Plot plot = plot_of_names({"gopt, 1 thread", "gopt, 4 threads", "cuda"});
  const Looks looks({&plot});
  EXPECT_EQ(looks.of("gopt, 1 thread", Role::ours).colour, 0U);
  EXPECT_EQ(looks.of("gopt, 4 threads", Role::ours).colour, 1U);
  EXPECT_EQ(looks.of("cuda", Role::ours).colour, 2U);
}

TEST(ReportLooks, ThoseOfOneKindShareAColourWhereThereAreMore) {
  const Plot by_threads = plot_of_names({"gopt, 1 thread", "gopt, 4 threads", "gopt, 15 threads", "cuda, 1 thread",
                                         "cuda, 4 threads", "cuda, 15 threads", "cuda,mapped=1, 1 thread"});
  const Looks looks({&by_threads});
  const auto look = [&looks](const std::string& name) { return looks.of(name, Role::ours); };
  EXPECT_EQ(look("gopt, 1 thread").colour, look("gopt, 15 threads").colour);
  EXPECT_NE(look("gopt, 1 thread").colour, look("cuda, 1 thread").colour);
  EXPECT_NE(look("cuda, 1 thread").colour, look("cuda,mapped=1, 1 thread").colour);
  const Plot by_structure = plot_of_names({"penumbra gopt, bloom", "penumbra scalar, bloom", "penumbra gopt, fast",
                                           "penumbra scalar, fast", "penumbra gopt, tuple", "penumbra scalar, tuple",
                                           "penumbra gopt, linear", "penumbra scalar, linear"});
  const Looks others({&by_structure});
  EXPECT_EQ(others.of("penumbra gopt, bloom", Role::ours).colour,
            others.of("penumbra scalar, bloom", Role::ours).colour)
      << "there are more structures than engines";
}

/// A GPU's curve and the curve of all cores cross.
TEST(ReportLooks, SevenThatAreNoKindsHaveSixColours) {
  const Plot plot = plot_of_names(
      {"GPU, batches of 8192", "GPU, batches of 262144", "1 core", "2 cores", "4 cores", "8 cores", "16 cores"});
  const Looks looks({&plot});
  EXPECT_NE(looks.of("GPU, batches of 8192", Role::ours).colour, looks.of("16 cores", Role::ours).colour);
}

/// As in E22: a second part in a few names does not form kinds.
TEST(ReportLooks, WhatAFewNamesHaveMoreTellsNoKinds) {
  const Plot plot = plot_of_names(
      {"gopt", "scalar", "cuda", "cuda-resident", "auto", "penumbra gopt", "penumbra scalar", "rte_hash, of hashes"});
  const Looks looks({&plot});
  std::set<std::size_t> colours;
  for (const char* name : {"gopt", "scalar", "cuda", "cuda-resident"})
    colours.insert(looks.of(name, Role::ours).colour);
  EXPECT_EQ(colours.size(), 4U);
}

TEST(ReportLooks, NoTwoOfThemAreTheSame) {
  std::vector<std::string> names;
  for (const char* kind : {"a", "b"}) {
    for (std::size_t i = 0; i < Looks::kShapes * Looks::kDashes; ++i) {
      names.push_back(kind + (", " + std::to_string(i)));
    }
  }
  for (std::size_t i = 0; i < Looks::kColours * Looks::kShapes; ++i) names.push_back(std::to_string(i));
  const std::vector<std::string> of_kinds(names.begin(), names.end() - Looks::kColours * Looks::kShapes),
      of_none(names.end() - Looks::kColours * Looks::kShapes, names.end());
  for (const auto& some : {of_kinds, of_none}) {
    const Plot plot = plot_of_names(some);
    const Looks looks({&plot});
    std::set<std::tuple<std::size_t, std::size_t, std::size_t>> seen;
    for (const std::string& name : some) {
      const Looks::Look look = looks.of(name, Role::ours);
      EXPECT_TRUE(seen.emplace(look.colour, look.shape, look.dash).second) << name;
    }
  }
}

TEST(ReportLooks, LimitsTakeNoColourFromOthers) {
  const Plot limits = plot_of_names({"a limit", "another"}, Role::limit), ours = plot_of_names({"ours"});
  const Looks looks({&limits, &ours});
  EXPECT_EQ(looks.of("another", Role::limit).shape, 1U);
  EXPECT_EQ(looks.of("ours", Role::ours).colour, 0U);
}

TEST(ReportLooks, NamesHaveParts) {
  EXPECT_THAT(parts_of_name("tuple by cuda, batches of 64"), ElementsAre("tuple", "cuda", "batches of 64"));
  EXPECT_THAT(parts_of_name("cuda,mapped=1"), ElementsAre("cuda,mapped=1"));
  EXPECT_THAT(parts_of_name(""), ElementsAre(""));
  EXPECT_THAT(parts_of_name(" by "), ElementsAre("", ""));
}

TEST(ReportCovered, LaterCurvesHideEarlierOnes) {
  const auto all = covered({{{0, 0}, {10, 0}, {20, 0}}, {{0, 1}, {10, 1}, {20, 50}}, {{0, 0}}, {}});
  EXPECT_THAT(all[0].dots, ElementsAre(2, 1, 0));
  EXPECT_THAT(all[0].stretches, ElementsAre(1, 0)) << "a dot hides no line";
  EXPECT_THAT(all[1].dots, ElementsAre(1, 0, 0));
  EXPECT_THAT(all[2].dots, ElementsAre(0));
  EXPECT_TRUE(all[3].dots.empty() && all[3].stretches.empty());
}

TEST(ReportCovered, ALineWithADotBetweenIsAnother) {
  const auto all = covered({{{0, 0}, {20, 0}}, {{0, 0}, {10, 90}, {20, 0}}});
  EXPECT_THAT(all[0].dots, ElementsAre(1, 1));
  EXPECT_THAT(all[0].stretches, ElementsAre(0));
}

}  // namespace
}  // namespace penumbra::report
