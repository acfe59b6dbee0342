// SPDX-License-Identifier: Apache-2.0
//
// Tests thresholds and stored bits with an oracle that keeps every match.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "functions/ids/rules/testing.h"
#include "functions/ids/state/address_bits.h"
#include "functions/ids/state/bit_store.h"
#include "functions/ids/state/threshold_table.h"

namespace penumbra::ids {
namespace {

constexpr std::uint64_t kSecond = 1000000;

Threshold threshold_of(const std::string& option) {
  const Rule rule = parse_options(option);
  return rule.threshold ? *rule.threshold : rule.detection_filter.value();
}

/// Returns which of the matches at `seconds` alert: "x" or "." for each.
std::string alerts(const std::string& option, const std::vector<double>& seconds) {
  ThresholdTable table(64);
  std::string found;
  for (const double second : seconds) {
    const auto now = static_cast<std::uint64_t>(second * kSecond) + kSecond;
    found += table.count(threshold_of(option), {.rule = 1}, now) == ThresholdOutcome::alert ? 'x' : '.';
  }
  return found;
}

TEST(ThresholdTable, FollowsTheManual) {
  const std::vector<double> steady{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  EXPECT_EQ(alerts("threshold:type limit, track by_src, count 2, seconds 5;", steady), "xx...xx...xx");
  EXPECT_EQ(alerts("threshold:type threshold, track by_src, count 3, seconds 60;", steady), "..x..x..x..x");
  EXPECT_EQ(alerts("threshold:type threshold, track by_src, count 3, seconds 2;", steady), "............");
  EXPECT_EQ(alerts("threshold:type both, track by_src, count 3, seconds 5;", steady), "..x....x....");
  EXPECT_EQ(alerts("detection_filter:track by_src, count 3, seconds 5;", steady), "...xx...xx..");
  EXPECT_EQ(alerts("threshold:type backoff, track by_flow, count 1, multiplier 2;", steady), "xx.x...x....");
  EXPECT_EQ(alerts("threshold:type backoff, track by_flow, count 3, multiplier 2;", steady), "..x..x.....x");
}

TEST(ThresholdTable, CountsEachKeyAlone) {
  const Threshold limit = threshold_of("threshold:type limit, track by_src, count 1, seconds 60;");
  ThresholdTable table(64);
  std::vector<ThresholdKey> keys{{.rule = 1},
                                 {.rule = 2},
                                 {.rule = 1, .source = {1, 0}},
                                 {.rule = 1, .source = {0, 1}},
                                 {.rule = 1, .destination = {1, 0}},
                                 {.rule = 1, .destination = {0, 1}},
                                 {.rule = 1, .flow = 1}};
  for (const ThresholdKey& key : keys) EXPECT_EQ(table.count(limit, key, kSecond), ThresholdOutcome::alert);
  for (const ThresholdKey& key : keys) EXPECT_EQ(table.count(limit, key, kSecond), ThresholdOutcome::silent);
  EXPECT_EQ(table.evicted(), 0U);
}

/// The same by a list of all matches of a period.
class SlowThresholds {
 public:
  bool count(const Threshold& threshold, std::uint64_t key, std::uint64_t now) {
    std::vector<std::uint64_t>& period = matches_[key];
    if (!period.empty() && now - period.front() >= threshold.seconds * kSecond) period.clear();
    period.push_back(now);
    const std::size_t size = period.size();
    if (threshold.type == Threshold::Type::limit) return size <= threshold.count;
    if (threshold.type == Threshold::Type::both) return size == threshold.count;
    if (threshold.type == Threshold::Type::detection_filter) return size > threshold.count;
    return size % threshold.count == 0;
  }

 private:
  std::map<std::uint64_t, std::vector<std::uint64_t>> matches_;
};

TEST(ThresholdTable, AgreesWithListsOfMatches) {
  std::mt19937 random(3);
  for (const char* const option : {"threshold:type limit, track by_src, count 3, seconds 4;",
                                   "threshold:type threshold, track by_src, count 3, seconds 4;",
                                   "threshold:type both, track by_src, count 3, seconds 4;",
                                   "detection_filter:track by_src, count 3, seconds 4;"}) {
    const Threshold threshold = threshold_of(option);
    ThresholdTable table(1024, random());
    SlowThresholds slow;
    std::uint64_t now = kSecond;
    for (int i = 0; i < 5000; ++i) {
      now += random() % (kSecond / 8);
      const std::uint64_t key = random() % 20;
      const bool alert = table.count(threshold, {.rule = 1, .source = {key, 0}}, now) == ThresholdOutcome::alert;
      ASSERT_EQ(alert, slow.count(threshold, key, now)) << option << " match " << i;
    }
    EXPECT_EQ(table.evicted(), 0U);
  }
}

TEST(ThresholdTable, CountsEntriesThatItOverwrites) {
  const Threshold limit = threshold_of("threshold:type limit, track by_src, count 1, seconds 60;");
  ThresholdTable table(16);
  for (std::uint64_t key = 0; key < 100; ++key) table.count(limit, {.source = {key, 0}}, kSecond + key);
  EXPECT_EQ(table.evicted(), 84U);
  for (std::uint64_t key = 0; key < 100; ++key) table.count(limit, {.source = {key, 1}}, 100 * kSecond);
  EXPECT_EQ(table.evicted(), 168U);  // entries whose time is over are no loss
}

TEST(ThresholdTable, SaysWhetherARuleActsWithoutAnAlert) {
  const auto outcomes = [](const std::string& option) {
    ThresholdTable table(64);
    std::string found;
    for (std::uint64_t i = 1; i <= 6; ++i) {
      const ThresholdOutcome outcome = table.count(threshold_of(option), {.rule = 1}, i);
      found += outcome == ThresholdOutcome::alert ? 'x' : outcome == ThresholdOutcome::silent ? 's' : '.';
    }
    return found;
  };
  EXPECT_EQ(outcomes("threshold:type limit, track by_src, count 2, seconds 5;"), "xxssss");
  EXPECT_EQ(outcomes("threshold:type threshold, track by_src, count 3, seconds 5;"), "..x..x");
  EXPECT_EQ(outcomes("threshold:type both, track by_src, count 3, seconds 5;"), "..xsss");
  EXPECT_EQ(outcomes("detection_filter:track by_src, count 3, seconds 5;"), "...xxx");
  EXPECT_EQ(outcomes("threshold:type backoff, track by_flow, count 2, multiplier 2;"), ".xsxss");
}

TEST(ThresholdTable, ActivatesARateFilterForItsTimeout) {
  const Threshold rate{.type = Threshold::Type::threshold, .track = Track::source, .count = 3, .seconds = 10};
  const auto active = [&rate](const std::vector<double>& seconds, std::uint32_t timeout) {
    ThresholdTable table(64);
    std::string found;
    for (const double second : seconds) {
      const auto now = static_cast<std::uint64_t>((second + 1) * kSecond);
      found += table.exceeds_rate(rate, timeout, {.rule = 1, .is_rate = true}, now) ? 'x' : '.';
    }
    return found;
  };
  EXPECT_EQ(active({0, 1, 2, 3, 4, 33, 34, 35}, 30), "...xxx..");
  EXPECT_EQ(active({0, 1, 2, 10, 11, 12, 13}, 30), "......x");  // the fourth match begins another period
  EXPECT_EQ(active({0, 1, 2, 3, 5, 6, 7}, 1), "...x.xx");       // the period goes on after the timeout
  EXPECT_EQ(active({0, 1, 2, 3, 100, 101, 102, 103, 104}, 1), "...x....x");
}

TEST(FlowBits, AreSetAndTested) {
  BitNames names;
  const auto bits = [&names](const std::string& option) {
    return PreparedBits(parse_options(option).bits.at(0), names);
  };
  const PreparedBits set = bits("flowbits:set,a;"), unset = bits("flowbits:unset,a;"),
                     toggle = bits("flowbits:toggle,b;");
  const PreparedBits is_a = bits("flowbits:isset,a;"), is_any = bits("flowbits:isset,b|a;"),
                     not_a = bits("flowbits:isnotset,a;");
  ASSERT_EQ(names.flow_bits(), 2U);
  FlowBits store;
  EXPECT_FALSE(store.test(is_a));
  EXPECT_TRUE(store.test(not_a));
  store.change(set);
  EXPECT_TRUE(store.test(is_a));
  EXPECT_TRUE(store.test(is_any));
  EXPECT_FALSE(store.test(not_a));
  store.change(unset);
  EXPECT_FALSE(store.test(is_any));
  store.change(toggle);
  EXPECT_TRUE(store.test(is_any));
  store.change(toggle);
  EXPECT_FALSE(store.test(is_any));
}

/// Commands of xbits on the ends of packets from address `source` to address `destination`.
class XbitsTest : public testing::Test {
 protected:
  void change(const std::string& option, std::uint64_t source, std::uint64_t destination, double second) {
    bits_.change(prepared(option), ends(source, destination), time(second));
  }
  bool test(const std::string& option, std::uint64_t source, std::uint64_t destination, double second) {
    return bits_.test(prepared(option), ends(source, destination), time(second));
  }
  PreparedBits prepared(const std::string& option) {
    return {parse_options("xbits:" + option + ";").bits.at(0), names_};
  }
  static PacketEnds ends(std::uint64_t source, std::uint64_t destination) {
    return {{source, 0}, {destination, 0}, false};
  }
  static std::uint64_t time(double second) { return static_cast<std::uint64_t>((second + 1000) * kSecond); }

  BitNames names_;
  AddressBits bits_{64};
};

TEST_F(XbitsTest, BelongToAnAddressOrAPair) {
  change("set,a,track ip_src", 1, 2, 0);
  EXPECT_TRUE(test("isset,a,track ip_src", 1, 9, 0));
  EXPECT_TRUE(test("isset,b|a,track ip_dst", 9, 1, 0));
  EXPECT_FALSE(test("isnotset,a,track ip_src", 1, 9, 0));
  EXPECT_FALSE(test("isset,a,track ip_dst", 1, 2, 0));
  EXPECT_FALSE(test("isset,b,track ip_src", 1, 2, 0));
  EXPECT_FALSE(test("isset,a,track ip_pair", 1, 2, 0));
  change("set,a,track ip_pair", 1, 2, 0);
  EXPECT_TRUE(test("isset,a,track ip_pair", 2, 1, 0));
  EXPECT_FALSE(test("isset,a,track ip_pair", 1, 3, 0));
  const PacketEnds v6{{1, 0}, {2, 0}, true};
  EXPECT_FALSE(bits_.test(prepared("isset,a,track ip_pair"), v6, time(0)));
  EXPECT_TRUE(bits_.test(prepared("isnotset,a,track ip_src"), v6, time(0)));
}

TEST_F(XbitsTest, AreUnsetAndToggled) {
  change("set,a,track ip_src", 1, 2, 0);
  change("unset,a,track ip_dst", 1, 2, 0);
  EXPECT_TRUE(test("isset,a,track ip_src", 1, 2, 0));
  change("unset,a,track ip_src", 1, 2, 0);
  EXPECT_FALSE(test("isset,a,track ip_src", 1, 2, 0));
  change("toggle,a,track ip_dst", 1, 2, 0);
  EXPECT_TRUE(test("isset,a,track ip_dst", 1, 2, 0));
  change("toggle,a,track ip_dst", 1, 2, 0);
  EXPECT_TRUE(test("isnotset,a,track ip_dst", 1, 2, 0));
}

TEST_F(XbitsTest, ExpireAfterWholeSeconds) {
  change("set,a,track ip_src,expire 60", 1, 2, 0.5);
  change("set,b,track ip_src", 1, 2, 0);
  EXPECT_TRUE(test("isset,b,track ip_src", 1, 2, 30.9));
  EXPECT_FALSE(test("isset,b,track ip_src", 1, 2, 31));
  EXPECT_TRUE(test("isset,a,track ip_src", 1, 2, 60));
  EXPECT_FALSE(test("isset,a,track ip_src", 1, 2, 61));
  change("toggle,a,track ip_src,expire 5", 1, 2, 61);
  EXPECT_TRUE(test("isset,a,track ip_src", 1, 2, 66));
  change("set,a,track ip_src,expire 5", 1, 2, 66);
  EXPECT_TRUE(test("isset,a,track ip_src", 1, 2, 71));
}

TEST_F(XbitsTest, AreCountedWhenTheyFindNoRoom) {
  AddressBits small(8);
  const PreparedBits set = prepared("set,a,track ip_src");
  for (std::uint64_t i = 0; i < 20; ++i) small.change(set, ends(i, 0), time(0));
  EXPECT_EQ(small.evicted(), 12U);
  for (std::uint64_t i = 0; i < 8; ++i) small.change(set, ends(i, 1), time(40));
  EXPECT_EQ(small.evicted(), 12U);  // bits that have expired are no loss
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_TRUE(small.test(prepared("isset,a,track ip_src"), ends(i, 1), time(40)));
}

}  // namespace
}  // namespace penumbra::ids
