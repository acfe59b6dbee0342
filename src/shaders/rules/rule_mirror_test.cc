// SPDX-License-Identifier: Apache-2.0
//
// A structure for rules as a mirror of its memory sees it. Compiled into each structure's test program.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "shaders/rules/rules_testing.h"

namespace penumbra {
namespace {

/// A copy that follows what is announced and nothing else.
class RuleMirror final : public TableMirror {
 public:
  void published(std::span<const std::byte> /*view*/, std::span<const TableRegion> regions) override {
    copies.clear();
    sources.assign(regions.begin(), regions.end());
    for (const auto& region : regions) copies.emplace_back(region.data, region.data + region.bytes);
    ++publishes;
  }
  void changed(std::size_t region, std::size_t offset, std::size_t bytes) override {
    ASSERT_LT(region, copies.size());
    ASSERT_LE(offset + bytes, copies[region].size());
    std::memcpy(copies[region].data() + offset, sources[region].data + offset, bytes);
  }
  void committed() override { ++commits; }

  void expect_equal() const {
    ASSERT_FALSE(copies.empty());
    for (std::size_t i = 0; i < copies.size(); ++i) {
      ASSERT_EQ(std::memcmp(copies[i].data(), sources[i].data, copies[i].size()), 0) << "region " << i;
    }
  }

  std::vector<std::vector<std::byte>> copies;
  std::vector<TableRegion> sources;
  int publishes = 0, commits = 0;
};

TEST(RuleMirrors, EqualTheOwnersMemoryAfterEveryCommit) {
  ManualGracePeriods grace_periods;
  const auto table = rules_testing::make_table(RuleFields::ipv4, grace_periods);
  RuleSet rules(RuleFields::ipv4, grace_periods);
  rules.feed(*table);
  RuleMirror mirror;
  table->table().attach(mirror);
  rules_testing::Rules source({.masks = 300, .values = 50, .priorities = 1000, .ranged = 3}, 3);
  std::vector<std::uint32_t> there;
  for (std::size_t round = 0; round < 300 / kSanitizerScale + 20; ++round) {
    for (int i = 0; i < 50; ++i) {
      if (!there.empty() && source.random().below(5) < 2) {
        std::swap(there[source.random().below(static_cast<std::uint32_t>(there.size()))], there.back());
        rules.remove(there.back());
        there.pop_back();
      } else {
        there.push_back(rules.add(source.rule()));
      }
    }
    const int commits = mirror.commits;
    rules.commit();
    ASSERT_GT(mirror.commits, commits);
    ASSERT_NO_FATAL_FAILURE(mirror.expect_equal()) << "round " << round;
    if (source.random().below(3) == 0) grace_periods.end_all();
  }
  EXPECT_TRUE(mirror.publishes > 1 || kSanitizerScale > 1) << "it has grown";
  table->table().detach(mirror);
}

}  // namespace
}  // namespace penumbra
