// SPDX-License-Identifier: Apache-2.0
//
// Compares meters with buckets that hold a level.
#include "functions/megaflows/meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/random.h"

namespace penumbra::megaflows {
namespace {

/// A bucket in millionths of a bit or of a thousandth of a packet, so that a nanosecond adds a whole number.
struct Bucket {
  std::uint64_t rate, most, level = most;
  void fill(std::uint64_t ns) { level = std::min(most, level + ns * rate); }
  bool pay(std::uint64_t volume) {
    const std::uint64_t cost = volume * 1'000'000;
    if (level < cost) return false;
    level -= cost;
    return true;
  }
};

TEST(MegaflowMeter, ActsAsBuckets) {
  Random random(1);
  // The rates divide a millisecond's ticks, so that both sides round nothing.
  const std::vector<std::uint32_t> rates{50, 1000, 8000, 64'000};
  for (int round = 0; round < 40; ++round) {
    MeterConfig config{.number = 1, .counts_packets = random.below(2) == 0};
    std::vector<Bucket> buckets;
    std::vector<std::uint64_t> dropped;
    for (std::uint32_t i = random.below(4); i > 0; --i) {
      const MeterBand band{.rate = rates[i], .burst = 1 + random.below(100)};
      config.bands.push_back(band);
      buckets.push_back({.rate = band.rate, .most = std::uint64_t{band.burst} * 1000 * 1'000'000});
      dropped.push_back(0);
    }
    Meter meter(config);
    std::uint64_t now = 1'000'000'000, bytes = 0;
    constexpr int kPackets = 500;
    for (int i = 0; i < kPackets; ++i) {
      const std::uint64_t pause = std::uint64_t{random.below(2)} * random.below(20'000'000);
      now += pause;
      const std::uint32_t length = 64 + random.below(1400);
      bytes += length;
      std::size_t exceeded = buckets.size();
      for (std::size_t band = 0; band < buckets.size(); ++band) {
        buckets[band].fill(pause);
        if (buckets[band].pay(config.counts_packets ? 1000 : 8 * length)) continue;
        if (exceeded == buckets.size() || buckets[band].rate > buckets[exceeded].rate) exceeded = band;
      }
      if (exceeded < buckets.size()) ++dropped[exceeded];
      ASSERT_EQ(meter.admit(length, now), exceeded == buckets.size()) << round << ": " << i;
    }
    const MeterCounts counts = meter.counts();
    EXPECT_EQ(counts.in.packets, kPackets);
    EXPECT_EQ(counts.in.bytes, bytes);
    ASSERT_EQ(counts.dropped.size(), dropped.size());
    for (std::size_t band = 0; band < dropped.size(); ++band) EXPECT_EQ(counts.dropped[band].packets, dropped[band]);
  }
}

TEST(MegaflowMeter, IsSharedByThreads) {
  Meter meter({.number = 1, .counts_packets = true, .bands = {{.rate = 1, .burst = 1000}}});
  std::atomic<int> admitted{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int packet = 0; packet < 1000; ++packet) admitted += meter.admit(64, 1'000'000'000) ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(admitted, 1000);
  EXPECT_EQ(meter.counts().dropped[0].packets, 3000U);
}

TEST(MegaflowMeter, TakesTheLargestBurst) {
  Meter meter({.number = 1, .counts_packets = true, .bands = {{.rate = 1, .burst = ~std::uint32_t{0}}}});
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(meter.admit(64, 1));
}

}  // namespace
}  // namespace penumbra::megaflows
