// SPDX-License-Identifier: Apache-2.0
//
// A rule structure as a mirror of its memory sees it: lookups in the copy. Compiled into each structure's test program.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "tables/rules/rules_testing.h"

namespace penumbra {
namespace {

/// A copy that applies announced changes only, at the commit and not before, with its own view.
class RuleMirror final : public TableMirror {
 public:
  explicit RuleMirror(const std::string& shader) : table_(shader) {}

  void published(std::span<const std::byte> view, std::span<const TableRegion> regions) override {
    ASSERT_LE(view.size(), view_.bytes.size());
    copies_.clear();
    announced_.clear();
    sources_.assign(regions.begin(), regions.end());
    std::memcpy(view_.bytes.data(), view.data(), view.size());
    for (const TableRegion& region : regions) {
      copies_.emplace_back(region.data, region.data + region.bytes);
      const std::byte* const copy = copies_.back().data();
      std::memcpy(view_.bytes.data() + region.pointer_offset, static_cast<const void*>(&copy), sizeof copy);
    }
    table_.publish(view_, {});
    ++publishes_;
  }
  void changed(std::size_t region, std::size_t offset, std::size_t bytes) override {
    ASSERT_LT(region, copies_.size());
    ASSERT_LE(offset + bytes, copies_[region].size());
    announced_.push_back({region, offset, bytes});
  }
  void committed() override {
    for (const Change& each : announced_) {
      std::memcpy(copies_[each.region].data() + each.offset, sources_[each.region].data + each.offset, each.bytes);
    }
    announced_.clear();
  }

  Table& table() { return table_; }
  int publishes() const { return publishes_; }

 private:
  struct Change {
    std::size_t region, offset, bytes;
  };
  struct View {
    alignas(64) std::array<std::byte, 1024> bytes;
  };

  Table table_;
  View view_{};
  std::vector<std::vector<std::byte>> copies_;
  std::vector<TableRegion> sources_;
  std::vector<Change> announced_;
  int publishes_ = 0;
};

TEST(RuleMirrors, AnswerAsTheTableDoes) {
  ManualGracePeriods grace_periods;
  const auto table = rules_testing::make_table(RuleFields::ipv4, grace_periods);
  RuleSet rules(RuleFields::ipv4, grace_periods);
  rules.feed(*table);
  RuleMirror mirror(table->shader());
  table->table().attach(mirror);
  rules_testing::Rules source({.masks = 300, .values = 20, .priorities = 1000, .ranged = 3}, 3);
  std::vector<std::uint32_t> there;
  std::vector<RuleWords> keys;
  for (std::size_t round = 0; round < 300 / kSanitizerScale + 20; ++round) {
    for (int i = 0; i < 50; ++i) {
      if (!there.empty() && source.random().below(5) < 2) {
        std::swap(there[source.random().below(static_cast<std::uint32_t>(there.size()))], there.back());
        keys.push_back(source.key_of(rules.find(there.back())->match));
        rules.remove(there.back());
        there.pop_back();
      } else {
        const Rule rule = source.rule();
        there.push_back(rules.add(rule));
        keys.push_back(source.key_of(rule.match));
      }
    }
    rules.commit();
    conformance::ShaderRun run("scalar", table->shader(), mirror.table());
    const auto found = rules_testing::answers_of(run, RuleFields::ipv4, keys, 64);
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(found[i], rules.best(keys[i])) << "round " << round;
    if (keys.size() > 200) keys.erase(keys.begin(), keys.begin() + 100);
    if (source.random().below(3) == 0) grace_periods.end_all();
  }
  EXPECT_TRUE(mirror.publishes() > 1 || kSanitizerScale > 1) << "it has grown";
  table->table().detach(mirror);
}

}  // namespace
}  // namespace penumbra
