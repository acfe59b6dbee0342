// SPDX-License-Identifier: Apache-2.0
//
// Compares the RIB with an oracle through random changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "control/rib.h"
#include "control/rib_testing.h"

namespace penumbra::control {
namespace {

/// Computes the expected reports of a RIB from lists.
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
        if (!is_known(list[order].spec, objects)) continue;
        const std::tuple rank(!list[order].direct, source, metric, order);
        const auto at = found.find(prefix);
        if (at == found.end() || rank < at->second.first) found[prefix] = {rank, leads(list[order].spec, objects)};
      }
    }
    std::map<Prefix, FeedTarget> table;
    for (const auto& [prefix, ranked] : found) table[prefix] = ranked.second;
    return table;
  }
  static bool is_known(const Rib::Spec& spec, const std::map<ObjectRef, ObjectContent>& objects) {
    const auto* const ref = std::get_if<ObjectRef>(&spec);
    if (ref == nullptr) return true;
    if (!objects.contains(*ref)) return false;
    const auto* const group = std::get_if<ObjectGroup>(&objects.at(*ref));
    return group == nullptr || std::ranges::any_of(group->members, [&](const auto& member) {
             return objects.contains({ref->source, member.id});
           });
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

/// Applies random changes to a RIB and an oracle.
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
    ASSERT_EQ(reported_.ipv4, ipv4_.best(objects_));
    ASSERT_EQ(reported_.ipv6, ipv6_.best(objects_));
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
    EXPECT_TRUE(reported_.ipv4.empty() && reported_.ipv6.empty());
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

  /// Synchronizes the source: reports most of its routes again, perhaps in another order, or cancels.
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
    report_again(ipv4_.routes, source);
    report_again(ipv6_.routes, source);
    rib_.end_sync(source);
  }
  template <class Routes>
  void report_again(Routes& routes, RibSource source) {
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
  RecordingListener reported_;
  Rib rib_{reported_};
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

}  // namespace
}  // namespace penumbra::control
