// SPDX-License-Identifier: Apache-2.0
//
// Compares the cuckoo table with a map.
#include "cuckoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "cuckoo.shader.h"
#include "testing/message_of.h"

namespace penumbra {
namespace {

using testing::HasSubstr;

constexpr CuckooTable::Shape kStations{60, 16, std::size_t{1} << 20}, kFlows{48, 26, std::size_t{1} << 20};
constexpr CuckooTable::Shape kNarrow{16, 1, std::size_t{1} << 20}, kWide{41, 32, std::size_t{1} << 20};

using Map = std::unordered_map<std::uint64_t, std::uint32_t>;

std::uint64_t below_bits(std::uint64_t number, unsigned bits) {
  return number & ((std::uint64_t{1} << bits) - 1);
}

/// Returns a value of the shape, never 0.
std::uint32_t value_of(std::uint64_t number, const CuckooTable::Shape& shape) {
  const std::uint64_t value = below_bits(number, shape.value_bits);
  return value == 0 ? 1 : static_cast<std::uint32_t>(value);
}

Map content_of(const CuckooTable& table) {
  Map content;
  table.for_each([&](std::uint64_t digest, std::uint32_t value) {
    EXPECT_TRUE(content.emplace(digest, value).second) << digest << " is there twice";
  });
  return content;
}

std::uint32_t shader_finds(CuckooTable& table, std::uint64_t digest) {
  return cuckoo_table_find(static_cast<const cuckoo_table_view*>(table.table().view()), digest);
}

class CuckooTableOfShape : public testing::TestWithParam<CuckooTable::Shape> {};

/// The test uses few digests, so that the same ones are inserted and removed. Some are at both ends of the range.
TEST_P(CuckooTableOfShape, EqualsAMapThroughRandomChanges) {
  NoReaders no_readers;
  CuckooTable table("test", GetParam(), 1, no_readers);
  Map map;
  Random random(2);
  const std::uint64_t last = below_bits(~std::uint64_t{0}, GetParam().digest_bits);
  std::vector<std::uint64_t> pool{0, 1, last, last - 1};
  while (pool.size() < 20'000) pool.push_back(below_bits(random.next(), GetParam().digest_bits));
  for (std::size_t i = 0; i < 400'000 / kSanitizerScale; ++i) {
    const std::uint64_t digest = pool[random.below(static_cast<std::uint32_t>(pool.size()))];
    ASSERT_EQ(table.find(digest), map.contains(digest) ? map[digest] : 0U);
    if (random.below(3) == 0) {
      ASSERT_EQ(table.remove(digest), map.erase(digest) == 1);
    } else {
      const std::uint32_t value = value_of(random.next(), GetParam());
      ASSERT_EQ(table.insert(digest, value), map.insert_or_assign(digest, value).second);
    }
    ASSERT_EQ(table.size(), map.size());
  }
  EXPECT_EQ(content_of(table), map);
  for (const std::uint64_t digest : pool) {
    ASSERT_EQ(shader_finds(table, digest), map.contains(digest) ? map[digest] : 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, CuckooTableOfShape, testing::Values(kStations, kFlows, kNarrow, kWide),
                         [](const auto& shape) {
                           return std::to_string(shape.param.digest_bits) + "_" +
                                  std::to_string(shape.param.value_bits);
                         });

TEST(CuckooTable, IsFilledTo95PercentWithoutGrowingAndFindsAll) {
  NoReaders no_readers;
  CuckooTable table("test", kStations, 1, no_readers);
  const std::size_t slots = table.slots(), wanted = slots * 95 / 100;
  for (std::size_t i = 0; i < wanted; ++i) {
    ASSERT_TRUE(table.insert(below_bits(Random::mixed(i), 60), value_of(i, kStations)));
  }
  EXPECT_EQ(table.slots(), slots);
  EXPECT_EQ(table.size(), wanted);
  for (std::size_t i = 0; i < wanted; ++i) {
    ASSERT_EQ(shader_finds(table, below_bits(Random::mixed(i), 60)), value_of(i, kStations));
    ASSERT_EQ(shader_finds(table, below_bits(Random::mixed(i + slots), 60)), 0U);
  }
}

/// Digests move from their first bucket to their second and back, and are removed from both, while the table stays
/// full.
TEST(CuckooTable, FindsAllWhileDigestsComeAndGoInAFullTable) {
  NoReaders no_readers;
  CuckooTable table("test", kStations, 1, no_readers);
  const std::size_t slots = table.slots(), wanted = slots * 95 / 100;
  std::vector<std::uint64_t> there, gone;
  Random random(4);
  const auto add = [&] {
    there.push_back(below_bits(random.next(), 60));
    ASSERT_TRUE(table.insert(there.back(), value_of(there.back(), kStations)));
  };
  while (there.size() < wanted) add();
  for (std::size_t i = 0; i < 2 * slots / kSanitizerScale; ++i) {
    std::uint64_t& one = there[random.below(static_cast<std::uint32_t>(there.size()))];
    ASSERT_TRUE(table.remove(one));
    gone.push_back(one);
    one = there.back();
    there.pop_back();
    add();
  }
  ASSERT_EQ(table.slots(), slots);
  for (const std::uint64_t digest : there) ASSERT_EQ(shader_finds(table, digest), value_of(digest, kStations));
  for (const std::uint64_t digest : gone) ASSERT_EQ(shader_finds(table, digest), 0U);
}

/// More digests share a first bucket than its count can hold.
TEST(CuckooTable, FindsDigestsOfWhichManyAreNotInTheirFirstBucket) {
  NoReaders no_readers;
  CuckooTable table("test", kStations, 1, no_readers);
  const auto bits = static_cast<const cuckoo_table_view*>(table.table().view())->bits;
  const auto digest = [&](std::uint64_t tag) { return tag << bits | 5; };
  for (std::uint64_t tag = 0; tag < 400; ++tag) ASSERT_TRUE(table.insert(digest(tag), 1));
  for (std::uint64_t tag = 0; tag < 400; ++tag) ASSERT_EQ(shader_finds(table, digest(tag)), 1U);
  for (std::uint64_t tag = 0; tag < 399; ++tag) {
    ASSERT_TRUE(table.remove(digest(tag)));
    ASSERT_EQ(shader_finds(table, digest(tag)), 0U);
    ASSERT_EQ(shader_finds(table, digest(399)), 1U);
  }
}

TEST(CuckooTable, ReservesWhatFillsItTo95PercentAtTheMost) {
  NoReaders no_readers;
  CuckooTable table("test", kStations, 1, no_readers);
  const std::size_t slots = table.slots();
  table.reserve(slots * 95 / 100);
  EXPECT_EQ(table.slots(), slots);
  table.reserve(slots * 95 / 100 + 1);
  EXPECT_EQ(table.slots(), 2 * slots);
}

TEST(CuckooTable, LeavesTheOldVersionToReadersUntilTheGracePeriodAfterItHasGrown) {
  ManualGracePeriods grace_periods;
  CuckooTable table("test", kStations, 1, grace_periods);
  table.insert(77, 5);
  const auto* const old = static_cast<const cuckoo_table_view*>(table.table().view());
  std::uint32_t found_in_old = 0, found_in_new = 0;
  grace_periods.while_waiting = [&] {
    found_in_old = cuckoo_table_find(old, 77);
    found_in_new = shader_finds(table, 77);
    EXPECT_NE(table.table().view(), old);
  };
  table.reserve(table.slots());
  EXPECT_EQ(grace_periods.waits, 1);
  EXPECT_EQ(found_in_old, 5U);
  EXPECT_EQ(found_in_new, 5U);
}

TEST(CuckooTable, RefusesOneMoreThanItTakesAndStaysAsItWas) {
  NoReaders no_readers;
  CuckooTable table("test", {60, 16, 3}, 1, no_readers);
  for (const std::uint64_t digest : {10, 20, 30}) table.insert(digest, 1);
  const Map content = content_of(table);
  EXPECT_THAT(message_of<std::length_error>([&] { table.insert(40, 1); }), HasSubstr("its limit is 3 keys"));
  EXPECT_EQ(content_of(table), content);
  EXPECT_FALSE(table.insert(30, 2)) << "another value needs no room";
  EXPECT_TRUE(table.remove(10));
  EXPECT_TRUE(table.insert(40, 1));
}

/// All digests share both buckets.
TEST(CuckooTable, DoesNotGrowForKeysThatMeet) {
  NoReaders no_readers;
  CuckooTable table("test", kStations, 1, no_readers);
  const cuckoo_table_view view = *static_cast<const cuckoo_table_view*>(table.table().view());
  std::vector<std::uint64_t> meeting;
  for (std::uint64_t tag = 0; meeting.size() < 15; ++tag) {
    if (cuckoo_table_jump(tag, view.bits) == cuckoo_table_jump(0, view.bits)) meeting.push_back(tag << view.bits);
  }
  for (std::size_t i = 0; i < 14; ++i) EXPECT_TRUE(table.insert(meeting[i], 1));
  const Map content = content_of(table);
  const std::size_t slots = table.slots();
  EXPECT_THAT(message_of<std::length_error>([&] { table.insert(meeting[14], 1); }), HasSubstr("too many keys meet"));
  EXPECT_EQ(content_of(table), content);
  EXPECT_EQ(table.slots(), slots);
}

TEST(CuckooTable, RefusesWhatItsWordsCannotHold) {
  NoReaders no_readers;
  CuckooTable table("test", kStations, 1, no_readers);
  EXPECT_THROW(table.insert(std::uint64_t{1} << 60, 1), std::invalid_argument);
  EXPECT_THROW(table.remove(std::uint64_t{1} << 60), std::invalid_argument);
  EXPECT_THROW(table.find(std::uint64_t{1} << 60), std::invalid_argument);
  EXPECT_THROW(table.insert(1, 0), std::invalid_argument);
  EXPECT_THROW(table.insert(1, 0x10000), std::invalid_argument);
  EXPECT_EQ(table.size(), 0U);
  for (const CuckooTable::Shape wrong : {CuckooTable::Shape{61, 16, 1}, {60, 0, 1}, {60, 33, 1}, {10, 8, 1}}) {
    EXPECT_THROW(CuckooTable("test", wrong, 1, no_readers), std::invalid_argument) << wrong.digest_bits;
  }
}

/// A copy of the buckets that applies announced changes only.
class CopyingMirror final : public TableMirror {
 public:
  void published(std::span<const std::byte> /*view*/, std::span<const TableRegion> regions) override {
    source = regions[0];
    copy.assign(source.data, source.data + source.bytes);
    ++publishes;
  }
  void changed(std::size_t region, std::size_t offset, std::size_t bytes) override {
    ASSERT_EQ(region, 0U);
    ASSERT_LE(offset + bytes, copy.size());
    std::memcpy(copy.data() + offset, source.data + offset, bytes);
  }
  void committed() override { ++commits; }
  bool equals_source() const { return std::memcmp(copy.data(), source.data, copy.size()) == 0; }

  std::vector<std::byte> copy;
  TableRegion source;
  int publishes = 0, commits = 0;
};

TEST(CuckooTable, AnnouncesEveryChange) {
  NoReaders no_readers;
  CuckooTable table("test", kNarrow, 1, no_readers);
  CopyingMirror mirror;
  table.table().attach(mirror);
  Random random(3);
  const std::size_t wanted = table.slots() * 98 / 100;
  while (table.size() < wanted) {
    table.insert(below_bits(random.next(), 16), 1);
    table.remove(below_bits(random.next(), 16));
    if (table.size() % 64 == 0) {
      ASSERT_TRUE(mirror.equals_source());
    }
    table.commit();
  }
  EXPECT_TRUE(mirror.equals_source());
  EXPECT_EQ(mirror.publishes, 1);
  EXPECT_GT(mirror.commits, 0);
  table.table().detach(mirror);
}

}  // namespace
}  // namespace penumbra
