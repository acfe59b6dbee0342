// SPDX-License-Identifier: Apache-2.0
#include "control/rib.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "base/shared_data.h"

namespace penumbra::control {
namespace {

/// What the listener was told, as a table.
class Told final : public RouteListener {
 public:
  void set_route(Ipv4Prefix prefix, const FeedTarget& target) override { set(ipv4, prefix, target); }
  void set_route(Ipv6Prefix prefix, const FeedTarget& target) override { set(ipv6, prefix, target); }
  void remove_route(Ipv4Prefix prefix) override { remove(ipv4, prefix); }
  void remove_route(Ipv6Prefix prefix) override { remove(ipv6, prefix); }
  void set_neighbour(std::uint16_t /*port*/, Ipv4Address /*address*/, MacAddress /*mac*/) override {}
  void remove_neighbour(std::uint16_t /*port*/, Ipv4Address /*address*/) override {}
  void commit() override {
    ++commits;
    told_of_.clear();
  }

  std::map<Ipv4Prefix, FeedTarget> ipv4;
  std::map<Ipv6Prefix, FeedTarget> ipv6;
  std::size_t changes = 0, commits = 0;

 private:
  void set(auto& table, auto prefix, const FeedTarget& target) {
    count(prefix);
    table[prefix] = target;
  }
  void remove(auto& table, auto prefix) {
    count(prefix);
    EXPECT_EQ(table.erase(prefix), 1U) << to_string(prefix) << " was not known";
  }
  /// Packets come while a batch is told, so a prefix never leads where it does not lead afterwards.
  void count(auto prefix) {
    ++changes;
    EXPECT_TRUE(told_of_.insert(to_string(prefix)).second) << to_string(prefix) << " is told of twice in a batch";
  }

  std::set<std::string> told_of_;
};

FeedTarget via(std::uint32_t gateway, std::uint16_t port = 0) {
  FeedTarget target;
  target.hops.push_back({.port = port, .interface = {}, .gateway = Ipv4Address{gateway}});
  return target;
}
const FeedTarget kBlackhole{.kind = FeedTarget::Kind::blackhole, .hops = {}};
const FeedTarget kUnreachable{.kind = FeedTarget::Kind::unreachable, .hops = {}};

Ipv4Prefix net(const char* text) {
  return parse_ipv4_prefix(text).value();
}

class RibTest : public testing::Test {
 protected:
  FeedTarget best(const char* prefix) { return told_.ipv4.at(net(prefix)); }
  Told told_;
  Rib rib_{told_};
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
  EXPECT_EQ(told_.changes, 0U);
  rib_.commit();
  EXPECT_EQ(told_.changes, 1U);
  EXPECT_TRUE(rib_.remove(RibKey{net("10.0.0.0/8"), 2, 0}, via(1)));
  rib_.put(RibKey{net("10.0.0.0/8"), 2, 0}, via(1), RibPlace::only);
  rib_.put(RibKey{net("11.0.0.0/8"), 2, 0}, via(1), RibPlace::only);
  EXPECT_TRUE(rib_.remove(RibKey{net("11.0.0.0/8"), 2, 0}, via(1)));
  rib_.commit();
  EXPECT_EQ(told_.changes, 1U) << "gone and come again, come and gone again";
  EXPECT_EQ(told_.commits, 2U);
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
  EXPECT_EQ(rib_.stale(2), 2U) << "it begins anew";
  rib_.end_sync(2);
  EXPECT_EQ(rib_.stale(2), 0U);
  rib_.commit();
  EXPECT_TRUE(told_.ipv4.empty());
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
  const auto before = told_.ipv4;
  const auto changes = told_.changes;
  rib_.detach_objects(2);
  rib_.set_object(one, via(7));
  rib_.commit();
  EXPECT_EQ(told_.ipv4, before);
  EXPECT_EQ(told_.changes, changes);
  EXPECT_EQ(rib_.rows(net("10.0.0.0/8")).at(0).object_id, std::nullopt);
  EXPECT_EQ(rib_.rows(net("12.0.0.0/8")).at(0).object_id, 1U) << "another source's";
  rib_.put(by_one, one, RibPlace::only);
  rib_.commit();
  EXPECT_EQ(best("10.0.0.0/8"), via(7));
  EXPECT_EQ(rib_.different_targets(), 3U);
}

TEST_F(RibTest, ASynchronizationWithdrawsOnlyWhatIsNotToldAgain) {
  rib_.put(RibKey{net("10.0.0.0/8"), 2, 0}, via(1), RibPlace::only);
  rib_.put(RibKey{net("11.0.0.0/8"), 2, 0}, via(2), RibPlace::only);
  rib_.put(RibKey{net("11.0.0.0/8"), 1, 0}, via(3), RibPlace::only);
  rib_.put(RibKey{net("12.0.0.0/8"), 2, 0}, via(4), RibPlace::only);
  rib_.commit();
  const auto before = told_.changes;
  rib_.begin_sync(2);
  rib_.put(RibKey{net("12.0.0.0/8"), 2, 0}, via(5), RibPlace::only);
  rib_.put(RibKey{net("10.0.0.0/8"), 2, 0}, via(1), RibPlace::only);
  rib_.end_sync(2);
  rib_.commit();
  EXPECT_EQ(told_.changes, before + 1);
  EXPECT_EQ(told_.ipv4,
            (std::map{std::pair(net("10.0.0.0/8"), via(1)), {net("11.0.0.0/8"), via(3)}, {net("12.0.0.0/8"), via(5)}}));
  rib_.begin_sync(2);
  rib_.cancel_sync(2);
  rib_.commit();
  EXPECT_EQ(told_.ipv4.size(), 3U);
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
  EXPECT_EQ(best("12.0.0.0/8"), kUnreachable) << "an object that nobody has told of";
}

TEST_F(RibTest, ARouteThatGoesWithItsObjectIsNotUnreachableBefore) {
  rib_.set_object({2, 7}, via(1));
  rib_.put(RibKey{net("10.0.0.0/8"), 2, 0}, ObjectRef{2, 7}, RibPlace::only);
  rib_.put(RibKey{net("11.0.0.0/8"), 2, 0}, ObjectRef{2, 7}, RibPlace::only);
  rib_.commit();
  rib_.remove(RibKey{net("10.0.0.0/8"), 2, 0}, ObjectRef{2, 7});
  rib_.put(RibKey{net("11.0.0.0/8"), 2, 0}, via(2), RibPlace::only);
  rib_.remove_object({2, 7});
  const std::size_t before = told_.changes;
  rib_.commit();
  EXPECT_EQ(told_.changes, before + 2) << "one is removed, one leads elsewhere, and nothing else is told meanwhile";
}

/// The same, worked out from lists.
template <class Prefix>
class Oracle {
 public:
  struct Route {
    Rib::Spec spec;
    bool direct = false;
  };
  using Key = std::tuple<Prefix, RibSource, std::uint32_t>;
  std::map<Key, std::vector<Route>> routes;

  std::map<Prefix, FeedTarget> best(const std::map<ObjectRef, ObjectContent>& objects) const {
    std::map<Prefix, std::pair<std::tuple<bool, RibSource, std::uint32_t, std::size_t>, FeedTarget>> found;
    for (const auto& [key, list] : routes) {
      const auto& [prefix, source, metric] = key;
      for (std::size_t order = 0; order < list.size(); ++order) {
        const std::tuple rank(!list[order].direct, source, metric, order);
        const auto at = found.find(prefix);
        if (at == found.end() || rank < at->second.first) found[prefix] = {rank, leads(list[order].spec, objects)};
      }
    }
    std::map<Prefix, FeedTarget> table;
    for (const auto& [prefix, ranked] : found) table[prefix] = ranked.second;
    return table;
  }
  static FeedTarget leads(const Rib::Spec& spec, const std::map<ObjectRef, ObjectContent>& objects) {
    if (std::holds_alternative<FeedTarget>(spec)) return std::get<FeedTarget>(spec);
    const auto ref = std::get<ObjectRef>(spec);
    if (!objects.contains(ref)) return kUnreachable;
    const ObjectContent& content = objects.at(ref);
    if (std::holds_alternative<FeedTarget>(content)) return std::get<FeedTarget>(content);
    FeedTarget all;
    for (const auto& [id, weight] : std::get<ObjectGroup>(content).members) {
      if (!objects.contains({ref.source, id}) || objects.at({ref.source, id}).index() != 0) continue;
      for (FeedHop hop : std::get<FeedTarget>(objects.at({ref.source, id})).hops) {
        hop.weight = weight;
        all.hops.push_back(hop);
      }
    }
    return all.hops.empty() ? kUnreachable : all;
  }
};

/// Random changes to a RIB and to the oracle alike.
class RibWorld {
 public:
  explicit RibWorld(std::uint64_t seed) : random_(seed) {}

  void change() {
    switch (random_.below(20)) {
      case 0:
        return change_object();
      case 1:
        return synchronize();
      default:
        return random_.below(2) == 0 ? change_route(ipv4_, ipv4_prefix()) : change_route(ipv6_, ipv6_prefix());
    }
  }
  void check() {
    rib_.commit();
    ASSERT_EQ(told_.ipv4, ipv4_.best(objects_));
    ASSERT_EQ(told_.ipv6, ipv6_.best(objects_));
    for (const auto& [key, list] : ipv4_.routes) {
      const auto& [prefix, source, metric] = key;
      std::vector<FeedTarget> wanted;
      for (const auto& route : list) wanted.push_back(Oracle<Ipv4Prefix>::leads(route.spec, objects_));
      ASSERT_EQ(rib_.targets(RibKey{prefix, source, metric}), wanted);
    }
  }
  void end() {
    for (const RibSource source : {1, 2, 3}) {
      rib_.begin_sync(source);
      rib_.end_sync(source);
    }
    rib_.commit();
    EXPECT_TRUE(told_.ipv4.empty() && told_.ipv6.empty());
    EXPECT_EQ(rib_.routes(), 0U);
    EXPECT_EQ(rib_.different_targets(), 0U) << "no target is left over";
  }

 private:
  Ipv4Prefix ipv4_prefix() { return {{random_.below(40) << 24}, static_cast<std::uint8_t>(8 + random_.below(2))}; }
  Ipv6Prefix ipv6_prefix() {
    return {{std::uint64_t{random_.below(30)} << 48, 0}, static_cast<std::uint8_t>(16 + random_.below(2))};
  }
  RibSource source() { return static_cast<RibSource>(1 + random_.below(3)); }
  Rib::Spec spec(RibSource source) {
    if (random_.below(3) == 0) return ObjectRef{source, random_.below(6)};
    return random_.below(8) == 0 ? kBlackhole : via(random_.below(6), static_cast<std::uint16_t>(random_.below(2)));
  }

  template <class Prefix>
  void change_route(Oracle<Prefix>& oracle, Prefix prefix) {
    const RibKey<Prefix> key{prefix, source(), random_.below(2)};
    const Rib::Spec leads = spec(key.source);
    auto& list = oracle.routes[{key.prefix, key.source, key.metric}];
    const auto same = std::ranges::find(list, leads, &Oracle<Prefix>::Route::spec);
    const bool known = same != list.end();
    if (random_.below(5) == 0) {
      const bool removed = known || list.size() == 1;
      EXPECT_EQ(rib_.remove(key, leads), removed);
      if (removed) list.erase(known ? same : list.begin());
    } else if (random_.below(6) == 0 && known) {
      const Rib::Spec after = via(100 + random_.below(1000));
      EXPECT_TRUE(rib_.retarget(key, leads, after));
      same->spec = after;
    } else {
      const auto place = static_cast<RibPlace>(random_.below(4));
      const bool direct = random_.below(10) == 0;
      rib_.put(key, leads, place, direct);
      if (place == RibPlace::only) {
        list.assign(1, {leads, direct});
      } else if (known) {
        same->direct = direct;
        if (place != RibPlace::last) std::rotate(list.begin(), same, same + 1);
        if (place == RibPlace::replace_first && same != list.begin()) list.erase(list.begin() + 1);
      } else if (place == RibPlace::replace_first && !list.empty()) {
        list.front() = {leads, direct};
      } else {
        list.insert(place == RibPlace::last ? list.end() : list.begin(), {leads, direct});
      }
    }
    if (list.empty()) oracle.routes.erase({key.prefix, key.source, key.metric});
  }

  void change_object() {
    const ObjectRef ref{source(), random_.below(6)};
    if (random_.below(4) != 0) {
      ObjectContent content = random_.below(3) == 0 ? kBlackhole : via(random_.below(6), 1);
      if (random_.below(3) == 0) {
        content = ObjectGroup{{{.id = random_.below(6), .weight = 2}, {.id = random_.below(6), .weight = 1}}};
      }
      rib_.set_object(ref, content);
      objects_[ref] = content;
    } else {
      forget(ref);
      rib_.remove_object(ref);
    }
  }
  void forget(ObjectRef ref) {
    if (objects_.erase(ref) == 0) return;
    const auto drop = [ref](auto& routes) {
      for (auto& [key, list] : routes) {
        std::erase_if(list, [ref](const auto& route) { return route.spec == Rib::Spec(ref); });
      }
      std::erase_if(routes, [](const auto& entry) { return entry.second.empty(); });
    };
    drop(ipv4_.routes);
    drop(ipv6_.routes);
  }

  /// Tells most of what the source has again, perhaps in another order, or gives up.
  void synchronize() {
    const RibSource source = this->source();
    rib_.begin_sync(source);
    if (random_.below(4) == 0) return rib_.cancel_sync(source);
    const auto objects = objects_;
    for (const auto& [ref, content] : objects) {
      if (ref.source != source) continue;
      if (random_.below(5) == 0) {
        forget(ref);
      } else {
        rib_.set_object(ref, content);
      }
    }
    tell_again(ipv4_.routes, source);
    tell_again(ipv6_.routes, source);
    rib_.end_sync(source);
  }
  template <class Routes>
  void tell_again(Routes& routes, RibSource source) {
    for (auto& [key, list] : routes) {
      const auto& [prefix, of, metric] = key;
      if (of != source) continue;
      std::erase_if(list, [this](const auto& /*route*/) { return random_.below(5) == 0; });
      if (random_.below(3) == 0) std::reverse(list.begin(), list.end());
      for (const auto& route : list) {
        rib_.put(RibKey{prefix, of, metric}, route.spec, RibPlace::first, route.direct);
      }
    }
    std::erase_if(routes, [](const auto& entry) { return entry.second.empty(); });
  }

  Random random_;
  Told told_;
  Rib rib_{told_};
  std::map<ObjectRef, ObjectContent> objects_;
  Oracle<Ipv4Prefix> ipv4_;
  Oracle<Ipv6Prefix> ipv6_;
};

TEST(RibProperty, AgreesWithTheOracleThroughManyChanges) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    RibWorld world(seed);
    Random random(seed);
    for (std::size_t i = 0; i < 6000 / kSanitizerScale; ++i) {
      world.change();
      if (random.below(8) != 0) continue;
      world.check();
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ", after change " << i;
    }
    world.end();
  }
}

/// The first words of a file's lines.
std::vector<std::string> real_prefixes(const std::string& name) {
  const auto file = shared_data(PENUMBRA_SOURCE_FOLDER) / "fib" / name;
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
  const auto tell = [&](RibSource source, std::size_t step, std::uint32_t gateways) {
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
  tell(3, 1, 200);
  EXPECT_GT(ipv4.size() * kSanitizerScale, 800'000U);
  EXPECT_GT(ipv6.size() * kSanitizerScale, 100'000U);
  EXPECT_TRUE(told_.ipv4 == ipv4 && told_.ipv6 == ipv6);
  const auto without = ipv4;
  tell(2, 3, 10);
  EXPECT_TRUE(told_.ipv4 == ipv4 && told_.ipv6 == ipv6);
  rib_.begin_sync(2);
  rib_.end_sync(2);
  rib_.commit();
  EXPECT_TRUE(told_.ipv4 == without) << "the other source's come forth again";
}

}  // namespace
}  // namespace penumbra::control
