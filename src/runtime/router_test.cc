// SPDX-License-Identifier: Apache-2.0
#include "runtime/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "penumbra/errors.h"
#include "runtime/test_support.h"
#include "testing/message_of.h"

namespace penumbra::runtime {
namespace {

using test::count_of;
using test::Order;
using test::TestBed;
using test::TestPortSetup;

const std::vector<Order> kAnything{Order::pass,
                                   Order::late_pass,
                                   Order::send,
                                   Order::late_send,
                                   Order::drop,
                                   Order::late_drop,
                                   Order::late_punt,
                                   Order::misdirect,
                                   Order::replicate,
                                   Order::replicate_other,
                                   Order::replicate_nowhere,
                                   Order::replicate_some};

TEST(Router, CountsEveryPacketUnderWhatBecameOfIt) {
  for (const char* engine : {test::kSync, test::kAsync, kAuto}) {
    TestBed bed({{.name = "a", .packets_per_queue = 20000, .orders = kAnything}}, 1, 1, engine);
    const Statistics statistics = bed.run_and_check({});
    const test::TestPort& port = bed.port(0);
    const auto given = [&port](Order order) { return port.given(0, order); };
    EXPECT_EQ(statistics.received.packets, 20000U);
    EXPECT_EQ(statistics.sent.packets, given(Order::send) + given(Order::late_send));
    EXPECT_EQ(count_of(statistics, "test_judge", "dropped"), given(Order::drop));
    EXPECT_EQ(count_of(statistics, "test_judge", "late_dropped"), given(Order::late_drop));
    EXPECT_EQ(count_of(statistics, "test_judge", "late_punted"), given(Order::late_punt));
    EXPECT_EQ(statistics.punted, given(Order::late_punt));
    EXPECT_EQ(count_of(statistics, "router", "undecided"),
              given(Order::pass) + given(Order::late_pass) + given(Order::misdirect) + given(Order::replicate) +
                  given(Order::replicate_other) + given(Order::replicate_nowhere) + given(Order::replicate_some))
        << "of one port nothing leaves by another";
    EXPECT_EQ(count_of(statistics, "router", "tx_full"), 0U);
    EXPECT_EQ(statistics.replicated, 0U);
  }
}

/// In both modes a packet leaves once by every port except its own, in order with packets that leave by one port.
TEST(Router, SendsAReplicatedPacketOutOfEveryPortButItsOwn) {
  for (const char* engine : {test::kSync, test::kAsync}) {
    for (const Order order : {Order::replicate, Order::replicate_other}) {
      constexpr std::uint64_t kPackets = 5000;
      TestBed bed({{.name = "a", .packets_per_queue = kPackets, .orders = {order}},
                   {.name = "b"},
                   {.name = "c", .packets_per_queue = kPackets, .orders = {order, order, Order::late_drop}},
                   {.name = "d"},
                   {.name = "e"}},
                  2, 1, engine);
      const Statistics statistics = bed.run_and_check({});
      const std::uint64_t of_c = kPackets - bed.port(2).given(0, Order::late_drop);
      EXPECT_EQ(statistics.replicated, 3 * (kPackets + of_c));
      EXPECT_EQ(statistics.sent_by_port[0].packets, of_c);
      EXPECT_EQ(statistics.sent_by_port[2].packets, kPackets);
      for (const std::size_t port : {1, 3, 4}) EXPECT_EQ(statistics.sent_by_port[port].packets, kPackets + of_c);
    }
  }
}

TEST(Router, CountsEveryCopyThatAnEgressQueueRefuses) {
  TestBed bed({{.name = "a", .packets_per_queue = 5000, .orders = {Order::replicate, Order::replicate_other}},
               {.name = "b", .refuse_probability = 1},
               {.name = "c", .refuse_probability = 0.5},
               {.name = "d"}},
              1, 1, test::kSync);
  const Statistics statistics = bed.run_and_check({});
  EXPECT_EQ(statistics.replicated, 2U * 5000);
  EXPECT_EQ(statistics.sent_by_port[1].packets, 0U);
  EXPECT_EQ(statistics.sent_by_port[3].packets, 5000U);
  EXPECT_EQ(count_of(statistics, "router", "tx_full"), std::uint64_t{2} * 5000 - statistics.sent_by_port[2].packets);
}

TEST(Router, CountsCopiesThatAFunctionDrops) {
  TestBed bed({{.name = "a", .packets_per_queue = 5000, .orders = {Order::replicate_some}},
               {.name = "b", .packets_per_queue = 1000, .orders = {Order::replicate_some}},
               {.name = "c"}},
              1, 1, test::kSync);
  const Statistics statistics = bed.run_and_check({});
  EXPECT_EQ(statistics.replicated, 2U * 5000 + 3U * 1000);
  EXPECT_EQ(statistics.sent_by_port[0].packets, 1000U);
  EXPECT_EQ(statistics.sent_by_port[2].packets, 6000U);
  EXPECT_EQ(count_of(statistics, "test_judge", "late_dropped"), 2U * 6000);
}

TEST(Router, ConservesPacketsAndOrderWithSeveralPortsWorkersAndStages) {
  const std::uint64_t reordered = test::batches_reordered(), full = test::times_full();
  for (const char* engine : {test::kSync, test::kAsync, kAuto}) {
    for (std::uint16_t workers = 1; workers <= 3; ++workers) {
      for (std::size_t stages = 1; stages <= 3; ++stages) {
        TestBed bed({{.name = "a", .queues = 2, .packets_per_queue = 4000, .orders = kAnything, .seed = stages},
                     {.name = "b", .packets_per_queue = 4000, .refuse_probability = 0.5, .orders = kAnything},
                     {.name = "c", .queues = 3, .packets_per_queue = 1500, .orders = kAnything, .seed = workers}},
                    workers, stages, engine);
        const Statistics statistics = bed.run_and_check({});
        EXPECT_EQ(statistics.received.packets, 2U * 4000 + 4000 + 3 * 1500);
      }
    }
  }
  EXPECT_GT(test::batches_reordered(), reordered) << "the asynchronous engine did not put the order at risk";
  EXPECT_GT(test::times_full(), full);
}

TEST(Router, TellsEnginesWhenMoreIsWaitingAndFunctionsWhenToFetchAhead) {
  const test::Watched before = test::watched();
  const std::uint64_t ahead_before = test::chunks_fetched_ahead();
  TestBed bed({{.name = "a", .packets_per_queue = 60000}}, 1, 1, test::kWatch);
  bed.run_and_check({});
  const test::Watched after = test::watched();
  EXPECT_GT(after.whole, before.whole);
  EXPECT_EQ(after.whole_with_backlog - before.whole_with_backlog, after.whole - before.whole);
  EXPECT_GT(after.smaller, before.smaller);
  EXPECT_EQ(after.smaller_with_backlog, before.smaller_with_backlog);
  EXPECT_GT(after.ahead, before.ahead);
  EXPECT_EQ(test::chunks_fetched_ahead() - ahead_before, after.ahead - before.ahead);
}

TEST(Router, PreparesFunctionsOnEachWorkerBeforeItsFirstPacket) {
  const std::uint64_t before = test::chunks_of_unprepared_workers();
  TestBed bed({{.name = "a", .queues = 2, .packets_per_queue = 1000}}, 2, 2, test::kSync);
  EXPECT_EQ(bed.run_and_check({}).received.packets, 2 * 1000U);
  EXPECT_EQ(test::chunks_of_unprepared_workers(), before);
}

/// Most packets are decided before the second stage; a few wait there and must not be overtaken.
TEST(Router, KeepsTheOrderOfFlowsWhoseChunksNeedNoShader) {
  TestBed bed({{.name = "a", .packets_per_queue = 60000, .flows = 1, .orders = {Order::pass, Order::late_pass}}}, 1, 3,
              test::kAsync);
  bed.run_and_check({});
  TestBed mixed({{.name = "a",
                  .packets_per_queue = 60000,
                  .flows = 1,
                  .orders = {Order::send, Order::send, Order::send, Order::send, Order::late_pass, Order::late_send}}},
                1, 2, test::kAsync);
  EXPECT_GT(mixed.run_and_check({}).sent.packets, 40000U);
}

TEST(Router, CountsWhatTheEgressQueueRefusesAsTxFull) {
  TestBed bed({{.name = "a", .packets_per_queue = 20000, .refuse_probability = 1}}, 1, 1, test::kSync);
  const Statistics statistics = bed.run_and_check({});
  EXPECT_EQ(statistics.sent.packets, 0U);
  EXPECT_EQ(count_of(statistics, "router", "tx_full"), 20000U);
}

TEST(Router, AsksAnEgressQueueAgainBeforeItDrops) {
  TestBed bed({{.name = "a", .packets_per_queue = 20000, .refuse_probability = 0.05}}, 1, 1, test::kSync);
  const Statistics statistics = bed.run_and_check({});
  // About every third burst is partly refused; 16 refusals of one burst are practically impossible.
  EXPECT_EQ(statistics.sent.packets, 20000U);
}

TEST(Router, CountsLossesOfThePorts) {
  TestBed bed(
      {{.name = "a", .packets_per_queue = 1000, .ring_loss = {7, 700}, .unsent = {3, 192}, .unwritten = {2, 128}}}, 1,
      1, test::kSync);
  // A transmit queue may report losses before the worker has counted the packets as sent.
  EXPECT_EQ(bed.router().statistics().sent.packets, 0U);
  EXPECT_EQ(bed.router().statistics().sent.bytes, 0U);
  const Statistics statistics = bed.run_and_check({});
  EXPECT_EQ(statistics.received.packets, 1007U);
  EXPECT_EQ(statistics.received.bytes, 1000 * sizeof(test::Frame) + 700);
  EXPECT_EQ(statistics.sent.packets, 995U);
  EXPECT_EQ(count_of(statistics, "router", "rss_ring_full"), 7U);
  EXPECT_EQ(count_of(statistics, "router", "tx_full"), 3U);
  EXPECT_EQ(count_of(statistics, "router", "sink_failed"), 2U);
}

TEST(Router, KeepsAPacketLimitExactly) {
  for (const std::uint64_t limit : {0, 1, 63, 64, 65, 1000, 12345}) {
    for (std::uint16_t workers = 1; workers <= 3; ++workers) {
      TestBed bed({{.name = "a", .queues = 2, .endless = true}, {.name = "b", .queues = 3, .endless = true}}, workers,
                  1, test::kAsync);
      EXPECT_EQ(bed.run_and_check({.time = {}, .packets = limit}).received.packets, limit);
    }
  }
}

TEST(Router, EndsBeforeAPacketLimitThatTheSourcesDoNotReach) {
  TestBed bed({{.name = "a", .queues = 2, .packets_per_queue = 500}}, 2, 1, test::kSync);
  EXPECT_EQ(bed.run_and_check({.time = {}, .packets = 5000}).received.packets, 1000U);
}

TEST(Router, StopsAtAnyMomentAndFinishesWhatSoftwareRssHolds) {
  std::mt19937 random(5);
  for (unsigned round = 0; round < 20; ++round) {
    TestBed bed({{.name = "a", .queues = 2, .endless = true, .held_at_drain = 300, .orders = kAnything},
                 {.name = "c", .refuse_probability = 0.7},
                 {.name = "b", .endless = true, .held_at_drain = 20, .refuse_probability = 0.2}},
                2, 2, test::kAsync);
    const std::chrono::microseconds delay(random() % 20000);
    std::jthread stopper([&bed, delay] {
      std::this_thread::sleep_for(delay);
      bed.router().stop();
    });
    EXPECT_GE(bed.run_and_check({}).received.packets, 2U * 300 + 20);
  }
}

/// Owners of tables wait until a worker holds nothing; the worker must provide such a moment if none occurs by itself.
TEST(Router, LetsGracePeriodsElapseThoughAnEngineAlwaysHasWork) {
  TestBed bed({{.name = "a", .queues = 2, .endless = true}}, 2, 1, test::kHoarder);
  std::jthread owner([&bed] {
    while (bed.router().statistics().received.packets == 0) std::this_thread::yield();
    for (int round = 0; round < 5; ++round) test::grace_periods().elapsed(test::grace_periods().start(), true);
    bed.router().stop();
  });
  EXPECT_GT(bed.run_and_check({}).received.packets, 0U);
}

TEST(Router, NoticesAWorkerThatHangsAndThatItGoesOn) {
  TestBed bed({{.name = "a", .queues = 2, .endless = true}}, 2, 1, test::kStuck);
  std::jthread watcher([&bed] {
    const auto came_round = [&bed] { return bed.router().workers_came_round(); };
    while (bed.router().statistics().received.packets == 0) std::this_thread::yield();
    for (int round = 0; round < 5; ++round) {
      while (!came_round()) std::this_thread::yield();
    }
    test::let_one_worker_hang();
    const auto wait_for_the_other = [&bed] {
      const std::uint64_t received = bed.router().statistics().received.packets;
      while (bed.router().statistics().received.packets < received + 1000) std::this_thread::yield();
    };
    wait_for_the_other();
    came_round();  // Both workers may have looped before the hang.
    wait_for_the_other();
    EXPECT_FALSE(came_round());
    test::let_it_go_on();
    while (!came_round()) std::this_thread::yield();
    bed.router().stop();
  });
  bed.run_and_check({});
}

/// Workers that have exited count as alive.
TEST(Router, TakesWorkersThatAreDoneForAlive) {
  TestBed bed({{.name = "a", .packets_per_queue = 10}}, 2, 1, test::kSync);
  EXPECT_TRUE(bed.router().workers_came_round());
  bed.run_and_check({});
  EXPECT_TRUE(bed.router().workers_came_round());
}

TEST(Router, TellsFunctionsWhichLinksGoDown) {
  TestBed bed({{.name = "a", .endless = true}, {.name = "b"}, {.name = "c"}}, 1, 2, test::kSync);
  bed.port(2).set_link(false);
  test::links_lost();
  std::jthread hand([&bed] {
    const auto wait_for = [](const std::vector<std::uint16_t>& wanted) {
      std::vector<std::uint16_t> told;
      while (told.size() < wanted.size()) {
        std::this_thread::yield();
        for (const std::uint16_t port : test::links_lost()) told.push_back(port);
      }
      EXPECT_EQ(told, wanted);
    };
    while (bed.router().statistics().received.packets == 0) std::this_thread::yield();
    bed.port(1).set_link(false);
    wait_for({1, 1});  // There is one call for each stage.
    bed.port(0).set_link(false);
    wait_for({0, 0});
    bed.router().stop();
  });
  bed.run_and_check({});
  EXPECT_TRUE(test::links_lost().empty()) << "one that was down before";
}

TEST(Router, EndsAtOnceIfStoppedBeforeItRuns) {
  TestBed bed({{.name = "a", .endless = true}}, 1, 1, test::kSync);
  bed.router().stop();
  EXPECT_EQ(bed.run_and_check({}).received.packets, 0U);
}

TEST(Router, EndsAfterItsTimeAndTells) {
  TestBed bed({{.name = "a", .endless = true}}, 1, 1, test::kSync);
  const Statistics statistics = bed.run_and_check({.time = std::chrono::milliseconds(30), .packets = {}});
  EXPECT_GE(statistics.elapsed, std::chrono::milliseconds(30));
  EXPECT_GT(statistics.tsc_hz, 0);
}

TEST(Router, RunsOnlyOnce) {
  TestBed bed({{.name = "a", .packets_per_queue = 1}}, 1, 1, test::kSync);
  bed.run_and_check({});
  EXPECT_THROW(bed.router().run({}, [](const Statistics&) {}), std::logic_error);
}

TEST(Router, LeavesNoWorkerBehindWhenATickThrows) {
  TestBed bed({{.name = "a", .endless = true}}, 2, 1, test::kAsync);
  const auto fail = [](const Statistics&) { throw std::runtime_error("the terminal is gone"); };
  EXPECT_THROW(bed.router().run({}, fail), std::runtime_error);
  EXPECT_FALSE(bed.port(0).started());
  const Statistics statistics = bed.router().statistics();
  EXPECT_EQ(statistics.received.packets, statistics.sent.packets);
}

TEST(Router, SaysWhenAWorkerCannotBeSetUp) {
  auto config = test::test_config({"a"}, 2, 1, test::kSync);
  config.cores[1] = 100000;
  test::packet_memory();
  test::TestPort* port = nullptr;
  Router router(config, [&port](std::span<const control::PortConfig> configs, std::uint16_t workers) {
    auto made = std::make_unique<test::TestPort>(TestPortSetup{.name = "a", .endless = true}, configs[0].info,
                                                 std::uint16_t{1}, workers);
    port = made.get();
    std::vector<std::unique_ptr<io::Port>> ports;
    ports.push_back(std::move(made));
    return ports;
  });
  EXPECT_THAT(message_of<std::runtime_error>([&] { router.run({}, [](const Statistics&) {}); }),
              testing::HasSubstr("worker 1 cannot run on core 100000"));
  EXPECT_EQ(port->given(), 0U);
  EXPECT_FALSE(port->started());
}

TEST(Router, OpensNoPortWhenAFunctionCannotBeMade) {
  auto config = test::test_config({"a"}, 1, 1, test::kSync);
  config.pipeline[0].config = ConfigNode::parse("stage: 99", "test.yaml", ".");
  bool opened = false;
  const auto open = [&opened](std::span<const control::PortConfig>, std::uint16_t) {
    opened = true;
    return std::vector<std::unique_ptr<io::Port>>{};
  };
  EXPECT_THROW(Router(config, open), InputError);
  EXPECT_FALSE(opened);
}

TEST(Router, CountsStepsOfEveryStage) {
  TestBed bed({{.name = "a", .packets_per_queue = 3000, .orders = {Order::late_pass}}}, 1, 2, test::kAsync);
  const Statistics statistics = bed.run_and_check({});
  std::vector<std::string> names;
  for (const auto& step : statistics.steps) {
    names.push_back(step.step);
    EXPECT_EQ(step.packets, 3000U) << step.step;
    EXPECT_GT(step.cycles, 0U) << step.step;
    EXPECT_GE(step.chunks, 3000U / 64) << step.step;
  }
  EXPECT_THAT(names, testing::ElementsAre("receive", "test_judge.pre", "test_judge.shade", "test_judge.post",
                                          "test_judge.2.pre", "test_judge.2.shade", "test_judge.2.post", "send"));
}

TEST(Router, ShowsItsParts) {
  TestBed bed({{.name = "wan", .queues = 2, .packets_per_queue = 500}, {.name = "lan"}}, 2, 1, test::kSync);
  bed.run_and_check({});
  const Router& router = bed.router();
  const auto ports = router.show("ports", {});
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0]["name"], "wan");
  EXPECT_EQ(ports[0]["rx_packets"], 1000);
  EXPECT_EQ(ports[0]["mac"], "02:00:00:00:00:01");
  EXPECT_EQ(ports[0]["driver"], "test");
  EXPECT_EQ(ports[0]["tx_packets"].get<int>() + ports[1]["tx_packets"].get<int>(), 1000);
  const auto queues = router.show("ports", std::vector<std::string>{"wan"});
  std::uint64_t received = 0;
  for (const auto& row : queues) {
    if (row["direction"] == "rx") received += row["packets"].get<std::uint64_t>();
  }
  EXPECT_EQ(received, 1000U);
  const auto workers = router.show("workers", {});
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers[0]["packets"], 500);
  EXPECT_THAT(workers[0]["rx_queues"], testing::ElementsAre("wan:0", "lan:0"));
  EXPECT_EQ(router.show("functions", {})[0]["engine"], test::kSync);
  EXPECT_EQ(router.show("drops", {}).size(), 0U);
  EXPECT_EQ(router.show("drops", std::vector<std::string>{"all"}).size(), 10U + 4U + 1U);
  EXPECT_EQ(router.show("judges", {})["stage"], 0);
  bool used = false;
  for (const auto& row : router.show("engines", {})) used = used || row["used_by"] == std::vector{"test_judge"};
  EXPECT_TRUE(used);
}

std::vector<std::string> keys_of(const nlohmann::ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(Router, ShowsColumnsInTheOrderOfThePipelineAndWhatWasLostLast) {
  TestBed bed({{.name = "wan"}}, 1, 1, test::kSync);
  EXPECT_THAT(keys_of(bed.router().show("ports", {})[0]),
              testing::ElementsAre("name", "driver", "mac", "mtu", "rx_queues", "rx_packets", "rx_bytes", "tx_packets",
                                   "tx_bytes", "missed"));
  const auto worker = bed.router().show("workers", {})[0];
  EXPECT_THAT(keys_of(worker), testing::ElementsAre("worker", "core", "numa_node", "rx_queues", "packets", "replicated",
                                                    "burst", "busy", "asleep", "sleeps", "created", "absorbed", "held",
                                                    "cycles_per_packet", "packets_per_chunk", "counters"));
  EXPECT_THAT(keys_of(worker["cycles_per_packet"]),
              testing::ElementsAre("all", "receive", "test_judge.pre", "test_judge.shade", "test_judge.post", "send"));
  EXPECT_THAT(keys_of(worker["packets_per_chunk"]),
              testing::ElementsAre("receive", "test_judge.pre", "test_judge.shade", "test_judge.post", "send"));
}

TEST(Router, ShowsWhatAStageCosts) {
  TestBed bed({{.name = "wan", .packets_per_queue = 1000, .orders = {Order::late_pass}}}, 1, 2, test::kSync);
  bed.run_and_check({});
  const auto functions = bed.router().show("functions", {});
  const auto worker = bed.router().show("workers", {})[0];
  ASSERT_EQ(functions.size(), 2U);
  double all = worker["cycles_per_packet"]["receive"].get<double>() + worker["cycles_per_packet"]["send"].get<double>();
  for (const auto& row : functions) {
    EXPECT_EQ(row["packets"], 1000);
    EXPECT_EQ(row["burst"], worker["burst"]);
    EXPECT_GT(row["cycles_per_packet"]["shade"].get<double>(), 0);
    const std::string stage = row["stage"];
    EXPECT_EQ(row["burst"], worker["packets_per_chunk"][stage + ".pre"]);
    EXPECT_EQ(row["cycles_per_packet"]["pre"], worker["cycles_per_packet"][stage + ".pre"]);
    all += row["cycles_per_packet"]["all"].get<double>();
  }
  EXPECT_NEAR(all, worker["cycles_per_packet"]["all"].get<double>(), 0.05);  // Each value is rounded.
}

TEST(Router, KeepsWhatDevicesLostUntilTheEndOfTheRun) {
  TestBed bed({{.name = "wan", .missed = 7}, {.name = "lan"}}, 1, 1, test::kSync);
  bed.run_and_check({});
  const auto& losses = bed.router().device_losses();
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_EQ(losses[0].at(0).what, "missed");
  EXPECT_EQ(losses[0].at(0).packets, 7U);
}

TEST(Router, ShowsATopicOfEveryStageThatKnowsIt) {
  TestBed bed({{.name = "wan"}}, 1, 2, test::kSync);
  const auto rows = bed.router().show("judges", {});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.at("test_judge").at("stage"), 0);
  EXPECT_EQ(rows.at("test_judge.2").at("stage"), 1);
}

TEST(Router, RefusesWhatItCannotShow) {
  TestBed bed({{.name = "wan"}}, 1, 1, test::kSync);
  const Router& router = bed.router();
  const std::vector<std::string> wam{"wam"};
  EXPECT_THROW(router.show("prots", {}), std::invalid_argument);
  EXPECT_THROW(router.show("drops", wam), std::invalid_argument);
  EXPECT_THROW(router.show("judges", wam), std::invalid_argument);
  EXPECT_THAT(message_of<std::invalid_argument>([&] { router.show("ports", wam); }),
              testing::HasSubstr("did you mean 'wan'?"));
  EXPECT_THAT(message_of<std::invalid_argument>([&] { router.show("ports", std::vector<std::string>{"qqqqqqqq"}); }),
              testing::HasSubstr("there is no port 'qqqqqqqq'; there are: wan"));
}

}  // namespace
}  // namespace penumbra::runtime
