// SPDX-License-Identifier: Apache-2.0
#include "control/rib.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "base/shared_data.h"
#include "control/rib_testing.h"

namespace penumbra::control {
namespace {

class RibTest : public testing::Test {
 protected:
  FeedTarget best(const char* prefix) { return reported_.ipv4.at(net(prefix)); }
  RecordingListener reported_;
  Rib rib_{reported_};
};

TEST_F(RibTest, TheSourceComesBeforeTheMetricAndTheMetricBeforeTheOrder) {
  const auto put = [&](RibSource source, std::uint32_t metric, std::uint32_t gateway, RibPlace place) {
    rib_.put(RibKey{net("10.0.0.0/8"), source, metric}, via(gateway), place);
    rib_.commit();
    return best("10.0.0.0/8");
  };
  EXPECT_EQ(put(2, 10, 1, RibPlace::only), via(1));
  EXPECT_EQ(put(2, 5, 2, RibPlace::only), via(2));
  EXPECT_EQ(put(1, 99, 3, RibPlace::only), via(3));
  EXPECT_EQ(put(1, 99, 4, RibPlace::last), via(3));
  EXPECT_EQ(put(1, 99, 5, RibPlace::first), via(5));
  EXPECT_EQ(put(1, 99, 6, RibPlace::replace_first), via(6));
  EXPECT_EQ(rib_.targets(RibKey{net("10.0.0.0/8"), 1, 99}), (std::vector{via(6), via(3), via(4)}));
  rib_.put(RibKey{net("10.0.0.0/8"), 7, 0}, via(7), RibPlace::only, true);
  rib_.commit();
  EXPECT_EQ(best("10.0.0.0/8"), via(7)) << "a direct route";
  const auto rows = rib_.rows(net("10.0.0.0/8"));
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_TRUE(rows[0].active && rows[0].direct && !rows[1].active);
}

TEST_F(RibTest, ABatchReportsOfAPrefixOnlyWhatBecomesOfIt) {
  rib_.put(RibKey{net("10.0.0.0/8"), 2, 0}, via(1), RibPlace::only);
  EXPECT_EQ(reported_.changes, 0U);
  rib_.commit();
  EXPECT_EQ(reported_.changes, 1U);
  EXPECT_TRUE(rib_.remove(RibKey{net("10.0.0.0/8"), 2, 0}, via(1)));
  rib_.put(RibKey{net("10.0.0.0/8"), 2, 0}, via(1), RibPlace::only);
  rib_.put(RibKey{net("11.0.0.0/8"), 2, 0}, via(1), RibPlace::only);
  EXPECT_TRUE(rib_.remove(RibKey{net("11.0.0.0/8"), 2, 0}, via(1)));
  rib_.commit();
  EXPECT_EQ(reported_.changes, 1U) << "gone and come again, come and gone again";
  EXPECT_EQ(reported_.commits, 2U);
}

TEST_F(RibTest, TheOnlyRouteOfAKeyComesInPlaceOfTheStaleOneAtOnce) {
  const RibKey key{net("10.0.0.0/8"), 2, 0};
  rib_.put(key, via(1), RibPlace::only);
  rib_.put(RibKey{net("11.0.0.0/8"), 2, 0}, via(1), RibPlace::only);
  rib_.put(RibKey{net("12.0.0.0/8"), 2, 0}, via(1), RibPlace::only);
  rib_.commit();
  rib_.begin_sync(2);
  EXPECT_EQ(rib_.stale(2), 3U);
  rib_.put(key, via(2), RibPlace::only);
  rib_.put(key, via(3), RibPlace::only);
  EXPECT_EQ(rib_.targets(key), std::vector{via(3)});
  EXPECT_EQ(rib_.stale(2), 2U);
  EXPECT_TRUE(rib_.remove(key, FeedTarget{}));
  rib_.put(RibKey{net("11.0.0.0/8"), 2, 0}, via(1), RibPlace::only);
  EXPECT_EQ(rib_.stale(2), 1U);
  rib_.begin_sync(2);
  EXPECT_EQ(rib_.stale(2), 2U) << "it restarts";
  rib_.end_sync(2);
  EXPECT_EQ(rib_.stale(2), 0U);
  rib_.commit();
  EXPECT_TRUE(reported_.ipv4.empty());
}

TEST_F(RibTest, WhatIsLeftOfARouteThatLosesNextHopsComesInItsPlace) {
  const auto over_port_1 = [](const FeedHop& hop) { return hop.port == 1; };
  FeedTarget both = via(1, 0);
  both.hops.push_back(via(2, 1).hops.front());
  const RibKey shared{net("10.0.0.0/8"), 2, 0}, gone{net("11.0.0.0/8"), 2, 0};
  rib_.put(shared, both, RibPlace::only);
  rib_.put(shared, via(9, 0), RibPlace::last);
  rib_.put(gone, via(2, 1), RibPlace::only);
  rib_.put(RibKey{net("11.0.0.0/8"), 2, 7}, via(3, 0), RibPlace::only);
  rib_.put(RibKey{net("12.0.0.0/8"), 3, 0}, via(2, 1), RibPlace::only);
  rib_.set_object({2, 1}, via(2, 1));
  rib_.set_object({2, 2}, via(4, 0));
  rib_.set_object({2, 3}, ObjectGroup{{{.id = 1, .weight = 1}, {.id = 2, .weight = 1}}});
  rib_.put(RibKey{net("13.0.0.0/8"), 2, 0}, ObjectRef{2, 1}, RibPlace::only);
  rib_.put(RibKey{net("14.0.0.0/8"), 2, 0}, ObjectRef{2, 3}, RibPlace::only);
  rib_.commit();
  const RibKey<Ipv6Prefix> six{parse_ipv6_prefix("2001:db8::/32").value(), 2, 0},
      six_shared{parse_ipv6_prefix("fd00::/8").value(), 2, 0};
  rib_.put(six, via(2, 1), RibPlace::last);
  rib_.put(six, via(2, 0), RibPlace::last);
  rib_.put(six_shared, both, RibPlace::last);
  rib_.commit();
  const auto changes = reported_.changes;
  rib_.lose_hops(2, over_port_1);
  EXPECT_EQ(rib_.targets(six), (std::vector{via(2, 1), via(2, 0)})) << "the kernel says so, of one of them";
  EXPECT_EQ(rib_.targets(six_shared), std::vector{via(1, 0)});
  rib_.commit();
  EXPECT_EQ(rib_.targets(shared), (std::vector{via(1, 0), via(9, 0)}));
  const std::map<Ipv4Prefix, FeedTarget> expected{{net("10.0.0.0/8"), via(1, 0)},
                                                  {net("11.0.0.0/8"), via(3, 0)},
                                                  {net("12.0.0.0/8"), via(2, 1)},
                                                  {net("14.0.0.0/8"), via(4, 0)}};
  EXPECT_EQ(reported_.ipv4, expected) << "another source's route stays";
  EXPECT_EQ(reported_.changes, changes + 5);
  rib_.lose_hops(2, over_port_1);
  rib_.commit();
  EXPECT_EQ(reported_.changes, changes + 5) << "nothing is left to lose";
}

TEST_F(RibTest, RoutesStayWhereTheyLedWhenTheirObjectsAreForgotten) {
  const ObjectRef one{2, 1}, group{2, 2};
  const RibKey by_one{net("10.0.0.0/8"), 2, 0}, by_group{net("11.0.0.0/8"), 2, 0};
  rib_.set_object(one, via(1));
  rib_.set_object(group, ObjectGroup{{{.id = 1, .weight = 3}}});
  rib_.set_object({3, 1}, via(9));
  rib_.put(by_one, one, RibPlace::only);
  rib_.put(by_group, group, RibPlace::only);
  rib_.put(RibKey{net("12.0.0.0/8"), 3, 0}, ObjectRef{3, 1}, RibPlace::only);
  rib_.commit();
  const auto before = reported_.ipv4;
  const auto changes = reported_.changes;
  rib_.detach_objects(2);
  rib_.set_object(one, via(7));
  rib_.commit();
  EXPECT_EQ(reported_.ipv4, before);
  EXPECT_EQ(reported_.changes, changes);
  EXPECT_EQ(rib_.rows(net("10.0.0.0/8")).at(0).object_id, std::nullopt);
  EXPECT_EQ(rib_.rows(net("12.0.0.0/8")).at(0).object_id, 1U) << "another source's";
  rib_.put(by_one, one, RibPlace::only);
  rib_.commit();
  EXPECT_EQ(best("10.0.0.0/8"), via(7));
  EXPECT_EQ(rib_.different_targets(), 3U);
}

TEST_F(RibTest, ASynchronizationWithdrawsOnlyWhatIsNotReportedAgain) {
  rib_.put(RibKey{net("10.0.0.0/8"), 2, 0}, via(1), RibPlace::only);
  rib_.put(RibKey{net("11.0.0.0/8"), 2, 0}, via(2), RibPlace::only);
  rib_.put(RibKey{net("11.0.0.0/8"), 1, 0}, via(3), RibPlace::only);
  rib_.put(RibKey{net("12.0.0.0/8"), 2, 0}, via(4), RibPlace::only);
  rib_.commit();
  const auto before = reported_.changes;
  rib_.begin_sync(2);
  rib_.put(RibKey{net("12.0.0.0/8"), 2, 0}, via(5), RibPlace::only);
  rib_.put(RibKey{net("10.0.0.0/8"), 2, 0}, via(1), RibPlace::only);
  rib_.end_sync(2);
  rib_.commit();
  EXPECT_EQ(reported_.changes, before + 1);
  EXPECT_EQ(reported_.ipv4,
            (std::map{std::pair(net("10.0.0.0/8"), via(1)), {net("11.0.0.0/8"), via(3)}, {net("12.0.0.0/8"), via(5)}}));
  rib_.begin_sync(2);
  rib_.cancel_sync(2);
  rib_.commit();
  EXPECT_EQ(reported_.ipv4.size(), 3U);
}

TEST_F(RibTest, ANextHopObjectChangesAllItsRoutesAndTakesThemAlong) {
  rib_.set_object({2, 7}, via(1));
  rib_.set_object({2, 8}, via(2));
  rib_.set_object({2, 100}, ObjectGroup{{{.id = 7, .weight = 3}, {.id = 8, .weight = 1}}});
  rib_.put(RibKey{net("10.0.0.0/8"), 2, 0}, ObjectRef{2, 100}, RibPlace::only);
  rib_.put(RibKey{net("11.0.0.0/8"), 2, 0}, ObjectRef{2, 7}, RibPlace::only);
  rib_.put(RibKey{net("11.0.0.0/8"), 3, 0}, via(9), RibPlace::only);
  rib_.commit();
  FeedTarget both = via(1);
  both.hops[0].weight = 3;
  both.hops.push_back(via(2).hops[0]);
  EXPECT_EQ(best("10.0.0.0/8"), both);
  rib_.set_object({2, 8}, via(5));
  rib_.commit();
  both.hops[1] = via(5).hops[0];
  EXPECT_EQ(best("10.0.0.0/8"), both);
  rib_.set_object({2, 100}, ObjectGroup{{{.id = 8, .weight = 1}}});
  rib_.remove_object({2, 7});
  rib_.commit();
  EXPECT_EQ(best("10.0.0.0/8"), via(5));
  EXPECT_EQ(best("11.0.0.0/8"), via(9));
  rib_.put(RibKey{net("12.0.0.0/8"), 2, 0}, ObjectRef{2, 55}, RibPlace::only);
  rib_.commit();
  EXPECT_FALSE(reported_.ipv4.contains(net("12.0.0.0/8"))) << "an object that nobody has reported";
}

TEST_F(RibTest, ARouteCountsWhenItsObjectIsKnown) {
  const RibKey key{net("10.0.0.0/8"), 2, 0};
  rib_.put(RibKey{net("10.0.0.0/8"), 3, 0}, via(9), RibPlace::only);
  rib_.put(key, ObjectRef{2, 100}, RibPlace::only);
  rib_.commit();
  EXPECT_EQ(best("10.0.0.0/8"), via(9));
  rib_.set_object({2, 100}, ObjectGroup{{{.id = 7, .weight = 1}}});
  rib_.commit();
  EXPECT_EQ(best("10.0.0.0/8"), via(9)) << "a group of nobody";
  rib_.set_object({2, 7}, via(1));
  rib_.commit();
  EXPECT_EQ(best("10.0.0.0/8"), via(1));
  rib_.set_object({2, 7}, kBlackhole);
  rib_.commit();
  EXPECT_EQ(best("10.0.0.0/8"), kUnreachable) << "known, and a way nowhere";
  rib_.remove_object({2, 7});
  rib_.commit();
  EXPECT_EQ(best("10.0.0.0/8"), via(9));
}

TEST_F(RibTest, ARouteThatGoesWithItsObjectIsNotUnreachableBefore) {
  rib_.set_object({2, 7}, via(1));
  rib_.put(RibKey{net("10.0.0.0/8"), 2, 0}, ObjectRef{2, 7}, RibPlace::only);
  rib_.put(RibKey{net("11.0.0.0/8"), 2, 0}, ObjectRef{2, 7}, RibPlace::only);
  rib_.commit();
  rib_.remove(RibKey{net("10.0.0.0/8"), 2, 0}, ObjectRef{2, 7});
  rib_.put(RibKey{net("11.0.0.0/8"), 2, 0}, via(2), RibPlace::only);
  rib_.remove_object({2, 7});
  const std::size_t before = reported_.changes;
  rib_.commit();
  EXPECT_EQ(reported_.changes, before + 2)
      << "one is removed, one leads elsewhere, and nothing else is reported meanwhile";
}

/// Returns the first word of each line of a file, or nothing if the file does not exist.
std::vector<std::string> real_prefixes(const std::string& name) {
  const auto file = shared_data() / "fib" / name;
  std::vector<std::string> words;
  if (!std::filesystem::exists(file)) return words;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("gzip -dcf '" + file.string() + "'").c_str(), "r"), pclose);
  std::array<char, 512> line{};
  while (fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    const std::string_view text(line.data());
    words.emplace_back(text.substr(0, text.find_first_of(" \t\r\n")));
  }
  return words;
}

TEST_F(RibTest, ARealTableComesChangesAndGoes) {
  const auto words = real_prefixes("bart_full_v4v6_2025.txt.gz");
  if (words.empty()) GTEST_SKIP() << "the shared data is not here";
  std::map<Ipv4Prefix, FeedTarget> ipv4;
  std::map<Ipv6Prefix, FeedTarget> ipv6;
  Random random(9);
  const auto report = [&](RibSource source, std::size_t step, std::uint32_t gateways) {
    for (std::size_t i = 0; i < words.size(); i += step * kSanitizerScale) {
      const FeedTarget target = via(1 + random.below(gateways));
      if (const auto four = parse_ipv4_prefix(words[i])) {
        rib_.put(RibKey{*four, source, 20}, target, RibPlace::only);
        ipv4[*four] = target;
      } else {
        const auto six = parse_ipv6_prefix(words[i]).value();
        rib_.put(RibKey{six, source, 20}, target, RibPlace::only);
        ipv6[six] = target;
      }
    }
    rib_.commit();
  };
  report(3, 1, 200);
  EXPECT_GT(ipv4.size() * kSanitizerScale, 800'000U);
  EXPECT_GT(ipv6.size() * kSanitizerScale, 100'000U);
  EXPECT_TRUE(reported_.ipv4 == ipv4 && reported_.ipv6 == ipv6);
  const auto without = ipv4;
  report(2, 3, 10);
  EXPECT_TRUE(reported_.ipv4 == ipv4 && reported_.ipv6 == ipv6);
  rib_.begin_sync(2);
  rib_.end_sync(2);
  rib_.commit();
  EXPECT_TRUE(reported_.ipv4 == without) << "the other source's come forth again";
}

}  // namespace
}  // namespace penumbra::control
