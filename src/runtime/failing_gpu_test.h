// SPDX-License-Identifier: Apache-2.0
//
// Tests a whole router whose GPU fails during traffic.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "control/config.h"
#include "runtime/router.h"

namespace penumbra::runtime {

/// The numbers of packets before the failure and after it.
struct PacketCounts {
  std::uint64_t before = 5'000, after = 50'000;
};

/// Runs a router and calls `fail` after some packets. Polls `is_over`, and ends some packets after it has become true.
/// No packet may be lost, dropped or counted twice.
inline void run_while_it_fails(const control::RouterConfig& config, PacketCounts counts,
                               const std::function<void()>& fail, const std::function<bool()>& is_over) {
  bool fails = false;
  std::uint64_t until = 0;
  Statistics statistics;
  {
    Router router(config);
    router.run({.time = std::chrono::minutes(2), .packets = {}}, [&](const Statistics& now) {
      EXPECT_GE(now.received.packets, now.sent.packets + now.dropped + now.punted);
      if (!fails && now.sent.packets > counts.before) {
        fails = true;
        fail();
      }
      if (fails && until == 0 && is_over()) until = now.sent.packets + counts.after;
      if (until != 0 && now.sent.packets > until) router.stop();
    });
    statistics = router.statistics();
  }
  EXPECT_NE(until, 0U) << "the failure was not seen, or the GPU did not come back";
  EXPECT_GT(statistics.sent.packets, until) << "the router has not gone on";
  EXPECT_EQ(statistics.received.packets, statistics.sent.packets + statistics.dropped + statistics.punted);
  EXPECT_EQ(statistics.dropped, 0U);
}

/// Forwards with the engine while it fails.
inline void forward_while_it_fails(const std::string& engine, const std::function<void()>& fail,
                                   const std::function<bool()>& is_over) {
  auto config = control::parse_config(fmt::format("ports:\n"
                                                  "  - {{name: a, device: 'synth:'}}\n"
                                                  "  - {{name: b, device: 'synth:size=imix'}}\n"
                                                  "engine: {}\n"
                                                  "pipeline:\n  - echo: {{offset: 30}}\n",
                                                  engine),
                                      "test.yaml", ".");
  config.control.socket.clear();
  run_while_it_fails(config, {}, fail, is_over);
}

}  // namespace penumbra::runtime
