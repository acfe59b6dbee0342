// SPDX-License-Identifier: Apache-2.0
//
// Tests of EngineQueue::wait() that hold for every engine.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "penumbra/engine.h"

namespace penumbra::conformance {

inline constexpr std::chrono::minutes kLongWait{5};  ///< Only a lost signal makes a test wait so long.

/// True if the descriptor is readable within `time`.
inline bool is_readable(int descriptor, std::chrono::milliseconds time) {
  pollfd event{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&event, 1, static_cast<int>(time.count())) == 1;
}

/// Takes batches of the shader "echo" back as a service does, which sleeps while the engine works. `table` has an
/// echo_view of `modulus`.
inline void expect_that_waiting_returns_batches(Engine& engine, const Table& table, std::uint32_t modulus) {
  struct One {
    std::array<std::uint32_t, 64> in{};
    std::array<std::uint16_t, 64> out{};
    Batch batch;
  };
  const auto queue = engine.open_queue();
  EXPECT_EQ(queue->wake_descriptor(), -1) << "nothing is in flight";
  EXPECT_EQ(queue->wait(kLongWait), nullptr);
  std::mt19937 random(9);
  std::vector<One> all(4);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<const One*> in_flight;
    for (One& each : all) {
      for (auto& number : each.in) number = static_cast<std::uint32_t>(random());
      each.out.fill(0xFFFF);
      each.batch = {.shader = engine.find_shader("echo"), .table = &table, .items = 64};
      each.batch.inputs = {each.in.data()};
      each.batch.outputs = {each.out.data()};
      const auto answer = queue->submit(each.batch);
      if (answer == EngineQueue::Submitted::full) break;
      if (answer == EngineQueue::Submitted::queued) in_flight.push_back(&each);
    }
    for (const One* const each : in_flight) ASSERT_EQ(queue->wait(kLongWait), &each->batch) << turn;
    ASSERT_EQ(queue->wait(kLongWait), nullptr);
    for (const One& each : all) {
      if (each.out[0] == 0xFFFF) continue;  // It was refused.
      for (std::size_t i = 0; i < each.in.size(); ++i) ASSERT_EQ(each.out.at(i), each.in.at(i) % modulus);
    }
    ASSERT_NE(all[0].out[0], 0xFFFF);
  }
}

}  // namespace penumbra::conformance
