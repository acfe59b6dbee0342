// SPDX-License-Identifier: Apache-2.0
#include "penumbra/table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

namespace penumbra {
namespace {

struct NumberView {
  const std::uint32_t* number;
};

template <class View>
concept CanPublish = requires(Table& table, View&& view) { table.publish(std::forward<View>(view), {}); };
static_assert(CanPublish<NumberView&>);
static_assert(!CanPublish<NumberView>, "a temporary");

class CountingMirror final : public TableMirror {
 public:
  explicit CountingMirror(Table& table) : table_(table) { table_.attach(*this); }
  ~CountingMirror() override { table_.detach(*this); }
  void published(std::span<const std::byte> /*view*/, std::span<const TableRegion> /*regions*/) override { ++*told_; }
  void changed(std::size_t /*region*/, std::size_t /*offset*/, std::size_t /*bytes*/) override { ++*told_; }
  void committed() override { ++*told_; }
  int told() const { return *told_; }

 private:
  Table& table_;
  std::unique_ptr<int> told_ = std::make_unique<int>(0);
};

TEST(Table, TellsItsMirrorsWhatHappens) {
  Table table("numbers");
  std::uint32_t number = 1;
  const NumberView view{&number};
  const std::vector<TableRegion> regions{{0, reinterpret_cast<const std::byte*>(&number), sizeof number}};
  table.commit();
  table.publish(view, regions);
  const CountingMirror mirror(table);
  EXPECT_EQ(mirror.told(), 1) << "the current version";
  {
    const CountingMirror other(table);
    table.changed(0, 0, sizeof number);
    table.commit();
    table.publish(view, regions);
    EXPECT_EQ(other.told(), 4);
  }
  table.commit();
  EXPECT_EQ(mirror.told(), 5);
}

/// An engine may end while the table's owner still makes changes.
TEST(Table, SaysNothingToAMirrorThatIsGone) {
  Table table("numbers");
  std::uint32_t number = 1;
  const NumberView view{&number};
  table.publish(view, {{0, reinterpret_cast<const std::byte*>(&number), sizeof number}});
  for (int round = 0; round < 100; ++round) {
    auto mirror = std::make_unique<CountingMirror>(table);
    std::atomic<bool> is_over{false}, has_begun{false};
    std::thread owner([&] {
      while (!is_over) {
        table.changed(0, 0, sizeof number);
        table.commit();
        has_begun = true;
      }
    });
    while (!has_begun) std::this_thread::yield();
    mirror.reset();
    is_over = true;
    owner.join();
  }
}

}  // namespace
}  // namespace penumbra
