// SPDX-License-Identifier: Apache-2.0
//
// Tests numbers, scales and ticks, patterns and escapes.
#include <gmock/gmock.h>

#include "report/figures.h"
#include "report/markup.h"
#include "report/pattern.h"
#include "report/prices.h"
#include "report/scale.h"

namespace penumbra::report {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels(const Scale& scale, std::string_view unit, std::size_t most) {
  std::vector<std::string> all;
  for (const Tick& tick : ticks(scale, unit, most)) all.push_back(tick.label);
  return all;
}

TEST(ReportFigures, HaveThreeDigits) {
  EXPECT_EQ(figure(0), "0");
  EXPECT_EQ(figure(0.0481), "0.0481");
  EXPECT_EQ(figure(7.254), "7.25");
  EXPECT_EQ(figure(9.999), "10.0");
  EXPECT_EQ(figure(80.12), "80.1");
  EXPECT_EQ(figure(99.97), "100");
  EXPECT_EQ(figure(1073741.8), "1,073,742");
  EXPECT_EQ(figure(-123456), "-123,456");
  EXPECT_EQ(figure(1e-9), "1.00e-09");
  EXPECT_EQ(figure(Spread{2, 1, 3}), "2 (1 to 3)");
}

TEST(ReportFigures, PlacesOfBytesHaveUnits) {
  EXPECT_EQ(place_name(256, "B"), "256 B");
  EXPECT_EQ(place_name(65536, "B"), "64 KiB");
  EXPECT_EQ(place_name(1 << 30, "B"), "1 GiB");
  EXPECT_EQ(place_name(65536, ""), "65,536");
  EXPECT_EQ(place_name(Place("words"), "B"), "words");
}

TEST(ReportFigures, WhatIsBetter) {
  EXPECT_EQ(sense_of("M items/s/core"), Sense::more);
  EXPECT_EQ(sense_of("us, median"), Sense::less);
  EXPECT_EQ(sense_of("us a buffer"), Sense::less);
  EXPECT_EQ(sense_of("instructions a cycle"), Sense::neither);
  EXPECT_EQ(advantage(2, 1, Sense::more), 2);
  EXPECT_EQ(advantage(2, 1, Sense::less), 0.5);
  EXPECT_EQ(advantage(2, 0, Sense::more), 0);
}

TEST(ReportScales, AreLogarithmicWhereValuesSpanMuch) {
  const std::vector<double> little{1, 16}, much{3, 700}, with_zero{0, 700};
  EXPECT_FALSE(value_scale(little).is_log);
  EXPECT_FALSE(value_scale(with_zero).is_log);
  const Scale scale = value_scale(much);
  EXPECT_TRUE(scale.is_log);
  EXPECT_DOUBLE_EQ(scale.low, 2);
  EXPECT_DOUBLE_EQ(scale.high, 1000);
  EXPECT_NEAR(scale.position(44.72), 0.5, 1e-3);
  EXPECT_EQ(scale.position(0), 0);
}

TEST(ReportScales, BeginAtZeroOtherwise) {
  const std::vector<double> values{40, 83}, negative{-3, 5}, none, zero{0};
  EXPECT_EQ(value_scale(values).low, 0);
  EXPECT_EQ(value_scale(values).high, 100);
  EXPECT_LE(value_scale(negative).low, -3);
  for (const auto& each : {none, zero}) {
    EXPECT_LT(value_scale(each).low, value_scale(each).high);
    EXPECT_LT(place_scale(each).low, place_scale(each).high);
  }
}

TEST(ReportScales, TicksAreRound) {
  EXPECT_THAT(labels({false, 0, 100}, "", 6), ElementsAre("0", "20", "40", "60", "80", "100"));
  EXPECT_THAT(labels({false, 0, 2.5}, "", 6), ElementsAre("0", "0.5", "1", "1.5", "2", "2.5"));
  EXPECT_THAT(labels({true, 1, 100}, "", 6), ElementsAre("1", "2", "5", "10", "20", "50", "100"));
  EXPECT_THAT(labels({true, 1, 100000}, "", 6), ElementsAre("1", "10", "100", "1,000", "10,000", "100,000"));
  EXPECT_THAT(labels({true, 200, 5000000}, "B", 6), ElementsAre("256 B", "2 KiB", "16 KiB", "128 KiB", "1 MiB"));
}

TEST(ReportScales, TicksOfAnyNumbersAreFewAndInside) {
  for (const auto& values :
       std::vector<std::vector<double>>{{1e-30, 1e30}, {1e30}, {-1e30, 1e30}, {1, 1 + 1e-15}, {1e-30, 1}}) {
    for (const Scale& scale : {value_scale(values), place_scale(values)}) {
      EXPECT_LT(scale.low, scale.high);
      const auto all = ticks(scale, "", 6);
      EXPECT_LE(all.size(), 10U);
      for (const Tick& tick : all) EXPECT_NEAR(scale.position(tick.value), 0.5, 0.51);
    }
  }
}

TEST(ReportPatterns, SayWhatATextHas) {
  EXPECT_TRUE(matches("", "anything"));
  EXPECT_TRUE(matches("gopt", "penumbra GOPT"));
  EXPECT_FALSE(matches("^gopt", "penumbra gopt"));
  EXPECT_TRUE(matches("^gopt$|^scalar$", "scalar"));
  EXPECT_FALSE(matches("^gopt$", "gopt, calibrated"));
  EXPECT_TRUE(matches("mapped=0*median", "cuda,mapped=0, median"));
  EXPECT_FALSE(matches("median*mapped", "cuda,mapped=0, median"));
  EXPECT_TRUE(matches("^a*a$", "aa"));
  EXPECT_FALSE(matches("^a*a$", "a"));
}

TEST(ReportMarkup, EscapesEverything) {
  EXPECT_EQ(escape("<a b='c' d=\"e\">&"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;");
  EXPECT_EQ(escape(std::string_view("a\0b\x1b\n", 5)), "a\uFFFDb\uFFFD\n");
  EXPECT_EQ(escape("\uFFFF!"), "\uFFFD!");
  EXPECT_EQ(as_id("a b-c"), "a-20b-2dc");
}

TEST(ReportMarkup, ShortensByLetters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "ab\u2026");
  EXPECT_EQ(shortened("\u00e4\u00f6\u00fc", 3), "\u00e4\u00f6\u00fc");
  EXPECT_EQ(shortened("\u00e4\u00f6\u00fc\u00df", 3), "\u00e4\u00f6\u2026");
  EXPECT_EQ(shortened("", 3), "");
}

TEST(ReportMarkup, WrapsAtSpacesAndCommas) {
  EXPECT_THAT(wrapped("abc", 3, 2), ElementsAre("abc"));
  EXPECT_THAT(wrapped("ab cd", 3, 2), ElementsAre("ab", "cd"));
  EXPECT_THAT(wrapped("abc de", 3, 2), ElementsAre("abc", "de")) << "a space may stand behind a full line";
  EXPECT_THAT(wrapped("ab,cd,ef", 6, 2), ElementsAre("ab,cd,", "ef"));
  EXPECT_THAT(wrapped("1,000 items", 6, 2), ElementsAre("1,000", "items"));
  EXPECT_THAT(wrapped("1,000,000 x", 3, 2), ElementsAre("1,\u2026")) << "numbers stay whole";
  EXPECT_THAT(wrapped("ab cd ef", 3, 2), ElementsAre("ab", "cd\u2026"));
  EXPECT_THAT(wrapped("ab cd ef", 3, 3), ElementsAre("ab", "cd", "ef"));
  EXPECT_THAT(wrapped("\u00e4\u00f6 \u00fc", 2, 2), ElementsAre("\u00e4\u00f6", "\u00fc"));
  EXPECT_THAT(wrapped("", 3, 2), ElementsAre(""));
}

TEST(ReportPrices, TheFirstPatternThatMatches) {
  const PriceList prices = PriceList::built_in();
  ASSERT_NE(prices.find("Intel(R) Xeon(R) CPU E5-2680 0 @ 2.70GHz"), nullptr);
  EXPECT_EQ(prices.find("Intel(R) Xeon(R) CPU E5-2680 0 @ 2.70GHz")->dollars, 1748);
  EXPECT_EQ(prices.find("another"), nullptr);
  EXPECT_EQ(prices.find(""), nullptr);
}

}  // namespace
}  // namespace penumbra::report
