// SPDX-License-Identifier: Apache-2.0
#include "runtime/capture_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace penumbra::runtime {
namespace {

void write(CaptureRing& ring, const std::vector<std::uint8_t>& record) {
  std::uint8_t* room = ring.reserve(static_cast<std::uint32_t>(record.size()));
  ASSERT_NE(room, nullptr);
  std::memcpy(room, record.data(), record.size());
}

std::vector<std::uint8_t> read(CaptureRing& ring) {
  const auto record = ring.front();
  std::vector<std::uint8_t> copy(record.begin(), record.end());
  if (!record.empty()) ring.pop();
  return copy;
}

TEST(CaptureRing, HandsOverWhatIsPublishedAndNothingElse) {
  CaptureRing ring;
  EXPECT_TRUE(read(ring).empty());
  write(ring, {1, 2, 3});
  EXPECT_TRUE(read(ring).empty());
  const std::uint64_t mark = ring.reserved();
  write(ring, {4});
  ring.publish(mark);
  write(ring, {5, 6});
  ring.publish(ring.reserved());
  EXPECT_EQ(read(ring), (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_EQ(read(ring), (std::vector<std::uint8_t>{5, 6}));
  EXPECT_TRUE(read(ring).empty());
}

TEST(CaptureRing, RefusesWhatDoesNotFitAndTakesItLater) {
  CaptureRing ring;
  const std::vector<std::uint8_t> record(1000, 7);
  std::size_t written = 0;
  while (std::uint8_t* room = ring.reserve(1000)) {
    std::memcpy(room, record.data(), record.size());
    ++written;
  }
  ring.publish(ring.reserved());
  EXPECT_EQ(written, CaptureRing::kBytes / 1008);
  EXPECT_EQ(ring.reserve(1000), nullptr);
  EXPECT_EQ(read(ring), record);
  EXPECT_EQ(read(ring), record);
  EXPECT_NE(ring.reserve(1000), nullptr);
  for (std::size_t i = 2; i < written; ++i) EXPECT_EQ(read(ring), record);
  EXPECT_TRUE(read(ring).empty());
}

/// Both sides generate the same records from a seed. The reader must get all records that were accepted, in order.
TEST(CaptureRing, KeepsRecordsWholeBetweenTwoThreads) {
  constexpr std::uint32_t kRecords = 200000;
  CaptureRing ring;
  std::atomic<bool> ended{false};
  std::uint32_t refused = 0;
  std::jthread writer([&] {
    std::mt19937 random(1);
    for (std::uint32_t number = 0; number < kRecords; ++number) {
      const std::uint32_t bytes = sizeof number + random() % 2000;
      std::uint8_t* room = ring.reserve(bytes);
      if (room == nullptr) {
        ++refused;
        continue;
      }
      std::memset(room, static_cast<int>(number % 251), bytes);
      std::memcpy(room, &number, sizeof number);
      if (random() % 4 == 0) ring.publish(ring.reserved());
    }
    ring.publish(ring.reserved());
    ended = true;
  });
  std::int64_t last = -1;
  std::uint32_t received = 0;
  for (bool over = false; !over;) {
    over = ended;
    for (auto record = ring.front(); !record.empty(); record = ring.front()) {
      std::uint32_t number = 0;
      std::memcpy(&number, record.data(), sizeof number);
      ASSERT_GT(std::int64_t{number}, last);
      last = number;
      for (const std::uint8_t byte : record.subspan(sizeof number)) ASSERT_EQ(byte, number % 251);
      ++received;
      ring.pop();
    }
  }
  EXPECT_EQ(received + refused, kRecords);
  EXPECT_GT(received, 1000U);
}

}  // namespace
}  // namespace penumbra::runtime
