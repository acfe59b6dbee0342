// SPDX-License-Identifier: Apache-2.0
//
// Tests the two copies of a table step by step, with this thread as owner and launch thread.
#include "cuda/table_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/fake_device.h"
#include "tables/flows/flow_table.h"

namespace penumbra::cuda {
namespace {

struct TwoColumns {
  const std::uint32_t* first;
  std::uint64_t number;
  const std::byte* second;
};

/// Counts the bytes that are copied to it.
class CountingDevice final : public Device {
 public:
  explicit CountingDevice(FakeFaults& faults) : fake_(0, 1, faults) {}
  void abandon(const std::string& reason) noexcept override { fake_.abandon(reason); }
  void throw_if_lost() const override { fake_.throw_if_lost(); }
  std::string name() const override { return "counting"; }
  std::byte* do_allocate(std::size_t bytes) override { return fake_.allocate(bytes); }
  void do_release(std::byte* memory) noexcept override { fake_.release(memory); }
  std::byte* do_share(std::byte* host, std::size_t bytes) override { return fake_.share(host, bytes); }
  void do_unshare(std::byte* host) noexcept override { fake_.unshare(host); }
  void to_device(unsigned stream, std::byte* device, const std::byte* host, std::size_t bytes) override {
    fake_.to_device(stream, device, host, bytes);
    bytes_in += bytes;
    ++copies_in;
  }
  void scatter(unsigned stream, std::span<const CopyRange> ranges) override {
    fake_.scatter(stream, ranges);
    for (const CopyRange& copied : ranges) bytes_in += copied.bytes;
    ++scatters;
  }
  void to_host(unsigned stream, std::byte* host, const std::byte* device, std::size_t bytes) override {
    fake_.to_host(stream, host, device, bytes);
  }
  void erase(unsigned stream, std::byte* device, std::size_t bytes) override { fake_.erase(stream, device, bytes); }
  void on_device(unsigned stream, std::byte* to, const std::byte* from, std::size_t bytes) override {
    fake_.on_device(stream, to, from, bytes);
    bytes_within += bytes;
  }
  void launch(unsigned stream, const Launch& launch) override { fake_.launch(stream, launch); }
  void mark(unsigned stream) override { fake_.mark(stream); }
  bool reached(unsigned stream) override { return fake_.reached(stream); }

  std::size_t bytes_in = 0, copies_in = 0, bytes_within = 0, scatters = 0;

 private:
  FakeDevice fake_;
};

class CudaTableCopies : public testing::Test {
 protected:
  static constexpr std::size_t kFirst = 700'000, kSecond = 3'000;  ///< Elements.

  CudaTableCopies() { publish(); }
  /// Publishes a whole new version.
  void publish() {
    auto next = std::make_unique<Memory>();
    next->first.assign(kFirst, ++version_);
    next->second.assign(kSecond, std::byte(version_));
    next->view = {next->first.data(), version_, next->second.data()};
    table_.publish(next->view, {{offsetof(TwoColumns, first), reinterpret_cast<const std::byte*>(next->first.data()),
                                 kFirst * sizeof(std::uint32_t)},
                                {offsetof(TwoColumns, second), next->second.data(), kSecond}});
    memory_ = std::move(next);
  }
  void change(std::size_t index, std::uint32_t value) {
    memory_->first[index] = value;
    table_.changed(0, index * sizeof value, sizeof value);
  }
  void bring_up_to_date(TableCopies& copies) {
    while (copies.has_work()) copies.advance();
    EXPECT_TRUE(copies.shows(copies.wanted()));
  }
  TwoColumns view_of(const TableCopies& copies, unsigned copy) const {
    TwoColumns view;
    std::memcpy(&view, copies.view(copy), sizeof view);
    return view;
  }
  /// Checks that the current copy equals the owner's memory, and is separate memory.
  void expect_equal(TableCopies& copies) {
    const unsigned copy = copies.enter();
    const TwoColumns view = view_of(copies, copy);
    EXPECT_NE(view.first, memory_->first.data());
    EXPECT_EQ(view.number, memory_->view.number);
    EXPECT_EQ(std::memcmp(view.first, memory_->first.data(), kFirst * sizeof(std::uint32_t)), 0);
    EXPECT_EQ(std::memcmp(view.second, memory_->second.data(), kSecond), 0);
    copies.leave(copy);
  }

  struct Memory {
    std::vector<std::uint32_t> first;
    std::vector<std::byte> second;
    TwoColumns view{};
  };
  FakeFaults faults_;
  CountingDevice device_{faults_};
  Table table_{"two columns"};
  Doorbell doorbell_;
  std::unique_ptr<Memory> memory_;
  std::uint32_t version_ = 0;
};

TEST_F(CudaTableCopies, FollowChangesByCopyingNoMoreThanThese) {
  TableCopies copies(table_, doorbell_);
  copies.begin(device_, 0);
  EXPECT_FALSE(copies.shows(copies.wanted()));
  bring_up_to_date(copies);
  expect_equal(copies);
  const std::size_t whole = kFirst * sizeof(std::uint32_t) + kSecond;
  EXPECT_EQ(device_.bytes_in, whole);
  EXPECT_EQ(device_.bytes_within, whole) << "the second copy is made of the first";
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const std::size_t before = device_.bytes_in;
    for (int j = 0; j < 3; ++j) change(random() % kFirst, static_cast<std::uint32_t>(random()));
    table_.commit();
    bring_up_to_date(copies);
    // A copy lacks the last two commits; near changes are copied together with the bytes between them.
    EXPECT_LE(device_.bytes_in - before, 6 * (sizeof(std::uint32_t) + 4096));
    if (i % 20 == 0) expect_equal(copies);
  }
  expect_equal(copies);
  EXPECT_EQ(device_.bytes_within, whole);
}

TEST_F(CudaTableCopies, TakeManySmallChangesAtOnce) {
  TableCopies copies(table_, doorbell_);
  copies.begin(device_, 0);
  bring_up_to_date(copies);
  const std::size_t before = device_.copies_in;
  std::mt19937 random(2);
  for (int i = 0; i < 5; ++i) {
    const std::size_t scatters = device_.scatters;
    for (std::size_t j = 0; j < kFirst; j += 2'000) change(j + random() % 900, static_cast<std::uint32_t>(random()));
    table_.commit();
    bring_up_to_date(copies);
    expect_equal(copies);
    EXPECT_EQ(device_.scatters, scatters + 1);
  }
  EXPECT_EQ(device_.copies_in, before);
}

TEST_F(CudaTableCopies, TakeMoreSmallChangesThanAStepDoes) {
  TableCopies copies(table_, doorbell_);
  copies.begin(device_, 0);
  bring_up_to_date(copies);
  std::thread launch_thread([&] {
    while (!copies.has_work()) std::this_thread::yield();
    bring_up_to_date(copies);
  });
  for (std::size_t i = 0; i < kFirst; i += 1'100) change(i, 7);
  for (std::size_t i = 0; i < kSecond; ++i) memory_->second[i] = std::byte{9};
  table_.changed(1, 0, kSecond);
  table_.commit();
  launch_thread.join();
  bring_up_to_date(copies);
  expect_equal(copies);
}

TEST_F(CudaTableCopies, GiveTheDeviceUpIfACopyDoesNotEnd) {
  TableCopies copies(table_, doorbell_);
  copies.begin(device_, 0, std::chrono::milliseconds(50));
  bring_up_to_date(copies);
  faults_.stuck = true;
  change(5, 77);
  table_.commit();
  try {
    for (;;) copies.advance();
  } catch (const DeviceError& error) {
    EXPECT_TRUE(error.is_final());
    EXPECT_THAT(error.what(), testing::HasSubstr("a copy of the table 'two columns' has not come to its end in 50 ms"));
  }
  faults_.stuck = false;
  while (!device_.reached(0)) continue;
  copies.end();
}

TEST_F(CudaTableCopies, ShowNothingBeforeItIsCommitted) {
  TableCopies copies(table_, doorbell_);
  copies.begin(device_, 0);
  bring_up_to_date(copies);
  const std::uint64_t state = copies.wanted();
  change(5, 77);
  EXPECT_FALSE(copies.has_work());
  EXPECT_EQ(copies.wanted(), state);
  table_.commit();
  EXPECT_FALSE(copies.shows(copies.wanted()));
  bring_up_to_date(copies);
  expect_equal(copies);
}

TEST_F(CudaTableCopies, AreNotWrittenWhileALaunchReadsThem) {
  TableCopies copies(table_, doorbell_);
  copies.begin(device_, 0);
  bring_up_to_date(copies);
  const unsigned old = copies.enter();
  const TwoColumns view = view_of(copies, old);
  change(5, 77);
  table_.commit();
  bring_up_to_date(copies);
  change(5, 78);
  table_.commit();
  for (int i = 0; i < 1000; ++i) copies.advance();
  EXPECT_FALSE(copies.shows(copies.wanted())) << "the other copy is in use";
  EXPECT_EQ(view.first[5], version_);
  const unsigned newer = copies.enter();
  EXPECT_EQ(view_of(copies, newer).first[5], 77U);
  copies.leave(newer);
  copies.leave(old);
  bring_up_to_date(copies);
  expect_equal(copies);
}

TEST_F(CudaTableCopies, AreWholeAgainOnANewDevice) {
  TableCopies copies(table_, doorbell_);
  copies.begin(device_, 0);
  bring_up_to_date(copies);
  copies.end();
  EXPECT_FALSE(copies.has_work());
  change(9, 1234);
  table_.commit();
  publish();
  change(10, 1235);
  table_.commit();
  CountingDevice next(faults_);
  copies.begin(next, 0);
  EXPECT_FALSE(copies.shows(copies.wanted()));
  bring_up_to_date(copies);
  expect_equal(copies);
  copies.end();
}

/// Returns the bytes allocated at present. ThreadSanitizer and AddressSanitizer replace the counters: 0.
std::size_t memory_in_use() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

TEST_F(CudaTableCopies, TakeNoMoreMemoryWhileThereIsNoDevice) {
  TableCopies copies(table_, doorbell_);
  copies.begin(device_, 0);
  bring_up_to_date(copies);
  copies.end();
  std::mt19937 random(3);
  const std::size_t before = memory_in_use();
  for (int i = 0; i < 200'000; ++i) {
    change(random() % kFirst, static_cast<std::uint32_t>(random()));
    table_.commit();
  }
  EXPECT_LT(memory_in_use(), before + (std::size_t{1} << 20));
  CountingDevice next(faults_);
  copies.begin(next, 0);
  bring_up_to_date(copies);
  expect_equal(copies);
  copies.end();
}

/// A function's thread learns flows and grows its table while a launch thread copies.
TEST(CudaCopiesOfFlows, FollowATableThatLearns) {
  constexpr std::size_t kFlows = 300'000;
  FakeFaults faults;
  FakeDevice device(0, 1, faults);
  NoReaders no_readers;
  FlowTable flows(kFlows, 1, no_readers);
  Doorbell doorbell;
  TableCopies copies(flows.table(), doorbell);
  copies.begin(device, 0);
  std::atomic<bool> is_over{false};
  std::jthread owner([&] {
    for (std::uint64_t i = 0; i < kFlows; ++i) {
      flows.insert({.source = {0, i}, .destination = {0, 1}, .tuple = std::uint64_t{1} << 22}, 0);
      if (i % 256 == 0) flows.commit();
    }
    flows.commit();
    is_over = true;
  });
  while (!is_over || copies.has_work()) copies.advance();
  EXPECT_TRUE(copies.shows(copies.wanted()));
  const unsigned copy = copies.enter();
  flows_view view;
  ASSERT_EQ(copies.view_bytes(copy), sizeof view);
  std::memcpy(&view, copies.view(copy), sizeof view);
  for (std::uint64_t i = 0; i < kFlows; ++i) {
    const flow_key key{.source = {0, i}, .destination = {0, 1}, .tuple = std::uint64_t{1} << 22};
    std::uint32_t found = 0;
    flows_lookup(view, &key, &found, 1);
    ASSERT_NE(found, FlowTable::kNone) << i;
    ASSERT_EQ(found, flows.find(key));
  }
  copies.leave(copy);
  copies.end();
}

}  // namespace
}  // namespace penumbra::cuda
