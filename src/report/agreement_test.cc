// SPDX-License-Identifier: Apache-2.0
#include "report/agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "penumbra/errors.h"

namespace penumbra::report {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

Point point(const std::vector<double>& samples) {
  const auto [least, most] = std::ranges::minmax(samples);
  return {Place(), "", {samples[samples.size() / 2], least, most}, samples, std::nullopt};
}

bool agree(const std::vector<double>& first, const std::vector<double>& second, double drift = 0) {
  const Point a = point(first), b = point(second);
  return SeriesPair{nullptr, "", &a, &b, drift}.agrees();
}

/// Returns results of benchmarks that have only these paces.
Document paces(const std::vector<std::string>& each) {
  std::vector<std::string> entries;
  entries.reserve(each.size());
  for (const std::string& pace : each) {
    entries.push_back(
        fmt::format(R"({{"benchmark": "b", "comparisons": []{}{}}})", pace.empty() ? "" : ", \"pace\": ", pace));
  }
  return parse_document(
      fmt::format(R"({{"schema": "penumbra-bench/1", "machine": {{"processor": "Xeon"}}, "build": {{"version": "v"}},
    "results": [{}]}})",
                  fmt::join(entries, ",")),
      "test");
}

TEST(ReportAgreement, AMedianLiesWithinTheOthersSpread) {
  EXPECT_TRUE(agree({9, 10, 11}, {10.9, 10.95, 11}));
  EXPECT_TRUE(agree({10.9, 10.95, 11}, {9, 10, 11})) << "whichever comes first";
  EXPECT_FALSE(agree({9, 10, 11}, {10.5, 11.5, 12})) << "spreads that overlap are not enough";
  EXPECT_TRUE(agree({10, 10, 10}, {10, 10, 10}));
  EXPECT_FALSE(agree({10, 10, 10}, {10.1, 10.1, 10.1}));
}

TEST(ReportAgreement, OfFewSamplesASpreadIsAssumed) {
  EXPECT_TRUE(agree({10}, {11.4}));
  EXPECT_FALSE(agree({10}, {11.8}));
  EXPECT_TRUE(agree({10, 14}, {10, 10})) << "or what was measured, if that is more";
  EXPECT_TRUE(agree({10}, {11.4, 11.4, 11.4})) << "the one that has enough does not take it from the other";
  EXPECT_TRUE(agree({-10}, {-11.4}));
  const Spread spread = stated_spread(point({10}));
  EXPECT_DOUBLE_EQ(spread.least, 8.5);
  EXPECT_DOUBLE_EQ(spread.most, 11.5);
}

TEST(ReportAgreement, RunsMayLieAsFarApartAsTheMachinesPaceVaried) {
  EXPECT_TRUE(agree({10, 10, 10}, {11.9, 11.9, 11.9}, 0.2));
  EXPECT_FALSE(agree({10, 10, 10}, {12.6, 12.6, 12.6}, 0.2));
  EXPECT_TRUE(agree({10}, {11.4}, 0.05)) << "of few samples more is assumed all the same";
  EXPECT_TRUE(agree({9, 10, 12}, {11.5, 12, 12.5}, 0.05)) << "and what was measured counts, if that is more";
}

TEST(ReportAgreement, PacesOfOneMachineCount) {
  std::vector<std::string> calm(5, R"({"memory": 100})"), hurried(5, R"({"memory": 80})");
  const PriceList prices = PriceList::built_in();
  const std::vector<PaperMeasurement> papers;
  std::vector<Document> documents{paces(calm), paces(hurried)};
  const auto drift = [&] { return agreement_of(Context(documents, papers, prices)).drift; };
  EXPECT_NEAR(drift(), 0.234, 1e-3);
  const std::string text =
      text_of(agreement_of(Context(documents, papers, prices)), Context(documents, papers, prices));
  EXPECT_THAT(text, HasSubstr("than the machine's pace varied: 23.4%.\n"));
  documents[1] = paces(std::vector<std::string>(5, R"({"memory": 50})"));
  EXPECT_EQ(drift(), kMostDrift);
  documents[1].machine[0].second = "another";
  EXPECT_EQ(drift(), 0);
}

TEST(ReportAgreement, APaceThatIsNoneIsRefused) {
  for (const std::string pace : {R"({"memory": 0})", R"({"core": -1})", R"({"core": "fast"})", "5"}) {
    EXPECT_THROW(paces({pace}), InputError) << pace;
  }
}

TEST(ReportAgreement, HowFarApart) {
  const auto times = [](double first, double second) {
    const Point a = point({first}), b = point({second});
    return SeriesPair{nullptr, "", &a, &b, 0}.times_apart();
  };
  EXPECT_EQ(times(2, 3), 1.5);
  EXPECT_EQ(times(3, 2), 1.5);
  EXPECT_EQ(times(-3, -2), 1.5);
  EXPECT_EQ(times(0, 0), 1);
  EXPECT_EQ(times(0, 2), std::numeric_limits<double>::infinity());
}

std::string comparison(double at, const std::string& curve, const std::vector<double>& samples) {
  const Spread value = point(samples).value;
  return fmt::format(R"({{"title": "t", "unit": "us", "plot": {{"measurement": "E6", "title": "p", "at": {}}},
    "contenders": [{{"name": "{}", "samples": {}, "value": {{"median": {}, "min": {}, "max": {}}}}}]}})",
                     at, curve, samples, value.median, value.least, value.most);
}

Document run(const std::vector<std::string>& comparisons, const std::string& processor = "Xeon") {
  return parse_document(fmt::format(R"({{"schema": "penumbra-bench/1", "machine": {{"processor": "{}"}},
    "build": {{"version": "v"}}, "results": [{{"benchmark": "b", "comparisons": [{}]}}]}})",
                                    processor, fmt::join(comparisons, ",")),
                        "test");
}

TEST(ReportAgreement, SeriesAreFoundByCurveAndPlace) {
  const PriceList prices = PriceList::built_in();
  const std::vector<PaperMeasurement> papers;
  const std::vector<Document> documents{
      run({comparison(100, "a", {1}), comparison(200, "a", {1, 1, 1}), comparison(100, "b", {1})}),
      run({comparison(104, "a", {2}), comparison(200, "a", {1, 1, 1}), comparison(300, "a", {1}),
           comparison(100, "c", {1})})};
  const Context context(documents, papers, prices);
  const Agreement agreement = agreement_of(context);
  ASSERT_THAT(agreement.pairs, SizeIs(2)) << "places that were measured differ a little";
  EXPECT_EQ(agreement.only_in_first, 1U);
  EXPECT_EQ(agreement.only_in_second, 2U);
  EXPECT_EQ(agreement.of_all().agree, 1U);
  EXPECT_EQ(agreement.of_those_with(true).agree, 1U);
  EXPECT_EQ(agreement.of_those_with(true).all, 1U);
  EXPECT_EQ(agreement.of_those_with(false).value(), 0);
}

TEST(ReportAgreement, DriftIsTwiceTheDeviationOfThePaceThatVariesMore) {
  const std::string fast = R"({"memory": 110, "core": 100})", slow = R"({"memory": 90, "core": 101})";
  const Document first = paces({fast, "", fast, fast, fast, fast}), second = paces({slow, slow, slow, slow, slow});
  EXPECT_NEAR(drift_of({&first, &second}), 2 * 10.541 / 100, 1e-4) << "of both runs together";
  EXPECT_EQ(drift_of({&first}), 0) << "each by itself was steady";
  EXPECT_NEAR(drift_of({&second}), 0, 1e-9);
  const Document few = paces({fast, slow, fast, slow}), none = paces({"", "", "", "", "", ""});
  EXPECT_EQ(drift_of({&few}), 0) << "too few to tell";
  EXPECT_EQ(drift_of({&first, &none}), 0) << "one of them does not tell";
}

TEST(ReportAgreement, AKindThatHasNoSeriesIsNone) {
  const PriceList prices = PriceList::built_in();
  const std::vector<PaperMeasurement> papers;
  const std::vector<Document> documents(2, run({comparison(1, "a", {1})}));
  const Context context(documents, papers, prices);
  const std::string text = text_of(agreement_of(context), context);
  EXPECT_THAT(text, HasSubstr("with 3 samples or more: none\n"));
  EXPECT_THAT(text, EndsWith("all: 1 of 1 agree (100.0%); 90% are wanted\n")) << "none is apart";
}

TEST(ReportAgreement, SaysWhatIsFurthestApart) {
  std::vector<std::string> first{comparison(1, "same", {5, 5, 5})}, second = first;
  for (unsigned i = 2; i < 14; ++i) {
    first.push_back(comparison(i, fmt::format("curve {}", i), {1}));
    second.push_back(comparison(i, fmt::format("curve {}", i), {static_cast<double>(i)}));
  }
  const PriceList prices = PriceList::built_in();
  const std::vector<PaperMeasurement> papers;
  const std::vector<Document> documents{run(first), run(second, "EPYC")};
  const Context context(documents, papers, prices);
  const std::string text = text_of(agreement_of(context), context);
  EXPECT_THAT(text, HasSubstr("13 series in both, 0 only in A, 0 only in B."));
  EXPECT_THAT(text, HasSubstr("with 3 samples or more: 1 of 1 agree (100.0%)\n"));
  EXPECT_THAT(text, HasSubstr("if that is more: 0 of 12 agree (0.0%)\nall: 1 of 13 agree (7.7%); 90% are wanted\n"));
  EXPECT_THAT(text, HasSubstr("samples:\n  13 times: E6: p, curve 13 at 13: 1 and 13 us\n  12 times"));
  EXPECT_THAT(text, HasSubstr("curve 4 at 4"));
  EXPECT_THAT(text, Not(HasSubstr("curve 3"))) << "ten are enough";
  EXPECT_THAT(text, HasSubstr("different machines"));
}

}  // namespace
}  // namespace penumbra::report
