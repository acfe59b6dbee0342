// SPDX-License-Identifier: Apache-2.0
#include "runtime/control_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/scratch_folder.h"
#include "runtime/control_server.h"
#include "runtime/test_support.h"
#include "testing/message_of.h"

namespace penumbra::runtime {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kAnswerTime{20};

TEST(ControlClient, SaysThatNobodyListens) {
  const ScratchFolder folder;
  const auto path = folder / "control.sock";
  EXPECT_THAT(message_of<std::runtime_error>([&path] { ask_router(path, "show", "ports", {}); }),
              testing::AllOf(HasSubstr(path.string()), HasSubstr("penumbra run")));
}

TEST(ControlClient, DoesNotWaitForEver) {
  const ScratchFolder folder;
  const auto path = folder / "control.sock";
  control::ControlSockets sockets;
  sockets.socket = path;
  const ControlServer silent(sockets);  // The server is never started.
  const auto ask = [&path] { ask_router(path, "show", "ports", {}, std::chrono::milliseconds(50)); };
  EXPECT_THAT(message_of<std::runtime_error>(ask), HasSubstr("did not answer in time"));
}

/// Opens a single port with this setup.
OpenPorts opening(test::TestPortSetup setup) {
  return [setup = std::move(setup)](std::span<const control::PortConfig> configs, std::uint16_t workers) {
    std::vector<std::unique_ptr<io::Port>> ports;
    ports.push_back(std::make_unique<test::TestPort>(setup, configs[0].info, std::uint16_t{1}, workers));
    return ports;
  };
}

TEST(ControlClient, AsksARunningRouter) {
  const ScratchFolder folder;
  auto config = test::test_config({"wan"}, 1, 1, test::kSync);
  config.control.socket = folder / "control.sock";
  test::packet_memory();
  Router router(config, opening({.name = "wan", .endless = true}));
  std::jthread asker([&] {
    const auto ask = [&config](std::string_view command, std::string_view topic,
                               const std::vector<std::string>& arguments) {
      return ask_router(config.control.socket, command, topic, arguments, kAnswerTime);
    };
    while (ask("show", "ports", {})[0]["rx_packets"] == 0) std::this_thread::yield();
    EXPECT_EQ(ask("trace", "add", {"3"})["waiting_for"], 3);
    while (ask("trace", "show", {}).size() < 3) std::this_thread::yield();
    for (const char* topic : {"ports", "workers", "functions", "engines", "judges"}) {
      EXPECT_FALSE(ask("show", topic, {}).empty()) << topic;
    }
    EXPECT_FALSE(ask("show", "drops", {"all"}).empty());
    EXPECT_THAT(message_of<std::runtime_error>([&] { ask("show", "prots", {}); }), HasSubstr("topics: ports, workers"));
    EXPECT_THAT(message_of<std::runtime_error>([&] { ask("shwo", "ports", {}); }), HasSubstr("unknown command 'shwo'"));
    router.stop();
  });
  router.run({}, [](const Statistics&) {});
}

/// A client must not send packets upon an answer before the ports have started.
TEST(ControlClient, WaitsUntilThePortsHaveStarted) {
  const ScratchFolder folder;
  auto config = test::test_config({"wan"}, 1, 1, test::kSync);
  config.control.socket = folder / "control.sock";
  test::packet_memory();
  bool asked = false;
  const auto ask_too_early = [&] {
    asked = true;
    const auto ask = [&config] {
      ask_router(config.control.socket, "show", "ports", {}, std::chrono::milliseconds(50));
    };
    EXPECT_THAT(message_of<std::runtime_error>(ask), HasSubstr("did not answer in time"));
  };
  Router router(config, opening({.name = "wan", .packets_per_queue = 1, .at_start = ask_too_early}));
  router.run({}, [](const Statistics&) {});
  EXPECT_TRUE(asked);
  EXPECT_EQ(router.statistics().received.packets, 1U);
}

TEST(ControlClient, IsToldWhenARouterFailsToStart) {
  const ScratchFolder folder;
  auto config = test::test_config({"wan"}, 1, 1, test::kSync);
  config.control.socket = folder / "control.sock";
  test::packet_memory();
  std::optional<RouterConnection> waiting;
  {
    const auto fail = [&] {
      waiting.emplace(config.control.socket);
      throw std::runtime_error("no port today");
    };
    Router router(config, opening({.name = "wan", .at_start = fail}));
    EXPECT_THAT(message_of<std::runtime_error>([&router] { router.run({}, [](const Statistics&) {}); }),
                HasSubstr("no port today"));
  }
  const auto wait = [&waiting] { waiting->receive_line(RouterConnection::Clock::now() + kAnswerTime); };
  EXPECT_THAT(message_of<std::runtime_error>(wait), HasSubstr("hung up"));
}

}  // namespace
}  // namespace penumbra::runtime
