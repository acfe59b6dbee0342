// SPDX-License-Identifier: Apache-2.0
//
// The IPv4 table as a mirror of its memory sees it.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "dir24_8.h"
#include "dir24_8_oracle.h"

namespace penumbra {
namespace {

using dir24_8_oracle::entries_of;
using dir24_8_oracle::Oracle;
using dir24_8_oracle::prefix;
using dir24_8_oracle::prefix_of;

/// A copy that follows what is announced and nothing else.
class CopyingMirror final : public TableMirror {
 public:
  void published(std::span<const std::byte> view, std::span<const TableRegion> regions) override {
    copies.clear();
    sources.assign(regions.begin(), regions.end());
    ASSERT_EQ(view.size(), sizeof(dir24_8_view));
    std::memcpy(&copied_view, view.data(), view.size());
    for (const auto& region : regions) {
      const auto& copy = copies.emplace_back(region.data, region.data + region.bytes);
      const std::byte* const data = copy.data();
      std::memcpy(reinterpret_cast<std::byte*>(&copied_view) + region.pointer_offset, static_cast<const void*>(&data),
                  sizeof data);
    }
  }
  void changed(std::size_t region, std::size_t offset, std::size_t bytes) override {
    ASSERT_LT(region, copies.size());
    ASSERT_LE(offset + bytes, copies[region].size());
    std::memcpy(copies[region].data() + offset, sources[region].data + offset, bytes);
    bytes_copied += bytes;
  }
  void committed() override { ++commits; }

  bool equals_sources() const {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (std::memcmp(copies[i].data(), sources[i].data, copies[i].size()) != 0) return false;
    }
    return copies.size() == 2;
  }

  dir24_8_view copied_view{};
  std::vector<std::vector<std::byte>> copies;
  std::vector<TableRegion> sources;
  std::size_t bytes_copied = 0;
  int commits = 0;
};

TEST(Dir24_8Mirror, EqualsTheOwnersMemoryAfterChangesAndLoads) {
  NoReaders no_readers;
  Dir24_8 table(no_readers);
  CopyingMirror mirror;
  table.insert(prefix("10.0.0.1/32"), 9);
  table.table().attach(mirror);
  EXPECT_TRUE(mirror.equals_sources());
  std::mt19937 random(3);
  constexpr int kChanges = 20'000 / kSanitizerScale;
  Oracle oracle;
  std::vector<Dir24_8::Entry> loaded;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kChanges; ++i) {
      // Two /16s, so that prefixes meet; short ones seldom, for they are slow.
      const unsigned length = random() % 100 == 0 ? 8 + random() % 8 : 16 + random() % 17;
      const Ipv4Prefix each = prefix_of(0x0A000000U | random() % (1U << 17), length);
      if (random() % 3 == 0) {
        table.remove(each);
      } else {
        table.insert(each, static_cast<std::uint16_t>(random() % Dir24_8::kMaxNextHops));
      }
      if (i % 100 == 0) table.commit();
    }
    EXPECT_TRUE(mirror.equals_sources());
    loaded = entries_of(table);
    loaded.resize(loaded.size() / 2);
    table.load(loaded);
    EXPECT_TRUE(mirror.equals_sources());
  }
  EXPECT_EQ(mirror.commits, 3 * ((kChanges + 99) / 100));

  for (const auto& [each, next_hop] : loaded) oracle.insert(each, next_hop);
  for (const auto& entry : loaded) {
    std::uint16_t found = 0;
    dir24_8_lookup(mirror.copied_view, &entry.prefix.address.value, &found, 1);
    ASSERT_EQ(found, oracle.lookup(entry.prefix.address));
  }
  table.table().detach(mirror);
}

TEST(Dir24_8Mirror, IsToldOfNoMoreThanWhatAChangeRewrote) {
  NoReaders no_readers;
  Dir24_8 table(no_readers);
  CopyingMirror mirror;
  table.table().attach(mirror);
  table.insert(prefix("10.1.2.0/24"), 1);
  EXPECT_EQ(mirror.bytes_copied, 2U);
  table.insert(prefix("10.1.2.0/24"), 1);
  EXPECT_EQ(mirror.bytes_copied, 2U) << "nothing changed";
  table.insert(prefix("10.1.0.0/16"), 2);
  EXPECT_EQ(mirror.bytes_copied, 2U + 512U) << "one copy over the gap of the /24";
  table.table().detach(mirror);
}

}  // namespace
}  // namespace penumbra
