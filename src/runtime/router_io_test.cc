// SPDX-License-Identifier: Apache-2.0
//
// Tests the router over real ports: built-in sources, sinks and DPDK devices. The function is echo, by destination
// address.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "control/config.h"
#include "io/capture_writer.h"
#include "io/traffic.h"
#include "penumbra/errors.h"
#include "runtime/router.h"
#include "runtime/test_support.h"

namespace penumbra::runtime {
namespace {

control::RouterConfig configure(const std::string& ports, std::uint16_t workers) {
  const auto cores = test::test_config({}, workers, 0, "").cores;
  auto config =
      control::parse_config(fmt::format("ports:\n{}workers: {{cores: [{}]}}\npipeline:\n  - echo: {{offset: 30}}\n",
                                        ports, fmt::join(cores, ", ")),
                            "test.yaml", ".");
  config.control.socket.clear();
  return config;
}

Statistics run(const control::RouterConfig& config, const RunLimits& limits) {
  Router router(config);
  router.run(limits, [](const Statistics& now) {
    EXPECT_GE(now.received.packets, now.sent.packets + now.dropped + now.punted);
  });
  const Statistics statistics = router.statistics();
  EXPECT_EQ(statistics.received.packets, statistics.sent.packets + statistics.dropped + statistics.punted);
  return statistics;
}

/// Returns the number of cores, limited to 1 to 3.
std::uint16_t workers_here() {
  return static_cast<std::uint16_t>(std::clamp(std::thread::hardware_concurrency(), 1U, 3U));
}

TEST(RouterWithPorts, ForwardsAllOfAFiniteSource) {
  const Statistics statistics = run(configure("  - {name: a, device: 'synth:count=50000'}\n"
                                              "  - {name: b, device: none}\n",
                                              workers_here()),
                                    {});
  EXPECT_EQ(statistics.received.packets, 50000U);
  EXPECT_EQ(statistics.sent.packets, 50000U);
  EXPECT_GT(statistics.sent_by_port[0].packets, 0U);
  EXPECT_GT(statistics.sent_by_port[1].packets, 0U);
}

TEST(RouterWithPorts, KeepsAPacketLimit) {
  const Statistics statistics = run(configure("  - {name: a, device: 'synth:count=40000'}\n"
                                              "  - {name: b, device: 'synth:size=imix,count=40000'}\n",
                                              workers_here()),
                                    {.time = {}, .packets = 54321});
  EXPECT_EQ(statistics.received.packets, 54321U);
}

/// Packets that software RSS loses count as received too.
TEST(RouterWithPorts, KeepsAPacketLimitThoughRingsOverflow) {
  const auto capture =
      std::filesystem::temp_directory_path() / ("penumbra-limit-" + std::to_string(getpid()) + ".pcap");
  {
    io::CaptureFile file(capture);
    file.begin();
    io::CaptureWriter writer(file);
    const io::Traffic traffic(control::SynthSource{});
    std::vector<std::uint8_t> frame(control::SynthSource::kLargestFrame);
    for (std::uint64_t i = 0; i < 500; ++i) writer.add(0, {frame.data(), traffic.fill(i, frame)});
    writer.flush();
  }
  const Statistics statistics = run(
      configure("  - {name: a, device: 'net_pcap0,rx_pcap=" + capture.string() + ",infinite_rx=1'}\n", workers_here()),
      {.time = {}, .packets = 54321});
  std::filesystem::remove(capture);
  EXPECT_EQ(statistics.received.packets, 54321U);
}

/// A net_ring device receives the packets sent to it, and software RSS moves them between workers.
TEST(RouterWithPorts, PassesPacketsThroughADeviceAndSoftwareRss) {
  Router router(
      configure("  - {name: a, device: 'synth:count=30000'}\n"
                "  - {name: b, device: net_ring0, promiscuous: true}\n",
                workers_here()));
  router.run({}, [&router](const Statistics& now) {
    if (now.received_by_port[0].packets == 30000 && now.received_by_port[1].packets > 0) router.stop();
  });
  const Statistics statistics = router.statistics();
  EXPECT_EQ(statistics.received.packets, statistics.sent.packets + statistics.dropped + statistics.punted);
  EXPECT_EQ(statistics.received_by_port[0].packets, 30000U);
}

TEST(RouterWithPorts, ClosesEverythingWhenAPortCannotOpen) {
  const auto broken = configure(
      "  - {name: a, device: net_ring0}\n"
      "  - {name: b, device: 'pcap:/nonexistent.pcap'}\n",
      1);
  EXPECT_THROW(Router{broken}, InputError);
  // The device's name is free again.
  run(configure("  - {name: a, device: net_ring0}\n", 1), {.time = std::chrono::milliseconds(1), .packets = {}});
}

}  // namespace
}  // namespace penumbra::runtime
