// SPDX-License-Identifier: Apache-2.0
#include "runtime/trace.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/test_support.h"
#include "testing/message_of.h"

namespace penumbra::runtime {
namespace {

using test::Order;
using test::TestBed;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::UnorderedElementsAre;

using Words = std::vector<std::string>;

std::string refusal(Router& router, const std::string& action, const Words& arguments) {
  return message_of<std::invalid_argument>([&] { router.trace(action, arguments); });
}

TEST(Trace, FollowsTheNextPacketsThroughTheStages) {
  TestBed bed({{.name = "wan", .packets_per_queue = 1000, .flows = 1, .orders = {Order::late_pass}}}, 1, 2,
              test::kAsync);
  bed.router().trace("add", Words{"5"});
  bed.run_and_check({});
  const auto traces = bed.router().trace("show", {});
  ASSERT_EQ(traces.size(), 5U);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    EXPECT_EQ(traces[i]["packet"], i + 1);
    EXPECT_EQ(traces[i]["port"], "wan");
    EXPECT_EQ(traces[i]["worker"], 0);
    EXPECT_THAT(traces[i]["time"].get<std::string>(), MatchesRegex("..:..:..\\......."));
    EXPECT_THAT(traces[i]["frame"].get<std::string>(), HasSubstr("ethertype 0x88b5"));
    const std::string seen = "flow 0 sequence " + std::to_string(i);
    EXPECT_THAT(
        traces[i]["lines"].get<Words>(),
        ElementsAre("test_judge: " + seen + " -> pass", "test_judge.2: " + seen + " -> pass", "drop router.undecided"));
  }
}

TEST(Trace, TellsWhatBecameOfEachCopy) {
  for (const Order order : {Order::replicate, Order::replicate_other}) {
    TestBed bed({{.name = "wan", .packets_per_queue = 10, .orders = {order}},
                 {.name = "lan"},
                 {.name = "dmz"},
                 {.name = "full", .refuse_probability = 1}},
                1, 1, test::kSync);
    bed.router().trace("add", Words{"1"});
    bed.run_and_check({});
    EXPECT_THAT(bed.router().trace("show", {}).at(0).at("lines").get<Words>(),
                UnorderedElementsAre(HasSubstr("-> replicate"), "send lan", "send dmz", "drop router.tx_full"));
  }
}

TEST(Trace, TellsWhichCopiesAFunctionDrops) {
  TestBed bed(
      {{.name = "wan", .packets_per_queue = 10, .orders = {Order::replicate_some}}, {.name = "lan"}, {.name = "dmz"}},
      1, 1, test::kSync);
  bed.router().trace("add", Words{"1"});
  bed.run_and_check({});
  EXPECT_THAT(bed.router().trace("show", {}).at(0).at("lines").get<Words>(),
              UnorderedElementsAre(HasSubstr("-> replicate"), "send dmz", "drop test_judge.late_dropped",
                                   "drop test_judge.late_dropped"));
}

TEST(Trace, EndsWithWhatBecameOfThePacket) {
  const auto lines_of = [](Order order, double refuse) {
    TestBed bed({{.name = "wan", .packets_per_queue = 10, .refuse_probability = refuse, .orders = {order}}}, 1, 2,
                test::kSync);
    bed.router().trace("add", Words{"1", "--port", "wan"});
    bed.run_and_check({});
    return bed.router().trace("show", {}).at(0).at("lines").get<Words>();
  };
  EXPECT_THAT(lines_of(Order::late_send, 0), ElementsAre(HasSubstr("-> send wan"), "send wan"));
  EXPECT_THAT(lines_of(Order::late_send, 1), ElementsAre(HasSubstr("-> send wan"), "drop router.tx_full"));
  EXPECT_THAT(lines_of(Order::replicate, 0), ElementsAre(HasSubstr("-> replicate"), "drop router.undecided"));
  EXPECT_THAT(lines_of(Order::drop, 0),
              ElementsAre(HasSubstr("-> drop test_judge.dropped"), "drop test_judge.dropped"));
  EXPECT_THAT(lines_of(Order::late_punt, 0),
              ElementsAre(HasSubstr("-> punt test_judge.late_punted"), "punt test_judge.late_punted"));
}

/// Engines that answer late keep the packet's first chunk in flight while the packet could go on.
TEST(Trace, GoesOnInTheStageToWhichAFunctionSendsThePacket) {
  for (const char* const engine : {test::kSync, test::kAsync, test::kHoarder}) {
    const auto role = fmt::format("role: {}", static_cast<int>(test::HolderRole::go_on));
    TestBed bed({{.name = "wan", .packets_per_queue = 1000, .flows = 1}}, 1,
                {{"test_holder", engine, ConfigNode::parse(role, "test.yaml", ".")},
                 {"test_judge", engine, ConfigNode::parse("stage: 0", "test.yaml", ".")}});
    bed.router().trace("add", Words{"100"});
    bed.run_and_check({});
    const auto traces = bed.router().trace("show", {});
    ASSERT_EQ(traces.size(), 100U);
    for (const auto& trace : traces) {
      const std::string seen = fmt::format("flow 0 sequence {}", trace["packet"].get<unsigned>() - 1);
      EXPECT_THAT(trace["lines"].get<Words>(),
                  ElementsAre(HasSubstr("-> go to test_judge"), "test_judge: " + seen + " -> send wan", "send wan"));
    }
  }
}

PacketTrace part_of_trace(std::uint64_t number, std::uint16_t part, bool goes_on) {
  PacketTrace trace;
  trace.number = number;
  trace.part = part;
  trace.goes_on = goes_on;
  trace.worker = part;
  trace.lines.push_back("part " + std::to_string(part));
  return trace;
}

TEST(Trace, JoinsThePartsOfSeveralWorkersInAnyOrder) {
  SparePipeline spare(test::test_config({"wan"}, 1, 1, test::kSync));
  Tracer tracer(spare.pipeline(), {"wan"});
  const auto finish = [&tracer](std::uint64_t number, std::uint16_t part, bool goes_on) {
    std::vector<PacketTrace> traces;
    traces.push_back(part_of_trace(number, part, goes_on));
    tracer.finish(traces);
    return tracer.command("show", {}).size();
  };
  EXPECT_EQ(finish(1, 1, true), 0U);
  EXPECT_EQ(finish(2, 0, true), 0U);
  EXPECT_EQ(finish(1, 2, false), 0U);
  EXPECT_EQ(finish(1, 0, true), 1U);
  EXPECT_EQ(finish(2, 1, false), 2U);
  EXPECT_EQ(finish(3, 0, false), 3U);
  const auto traces = tracer.command("show", {});
  EXPECT_THAT(traces[0]["lines"].get<Words>(), ElementsAre("part 0", "part 1", "part 2"));
  EXPECT_EQ(traces[0]["worker"], 0);
  EXPECT_THAT(traces[1]["lines"].get<Words>(), ElementsAre("part 0", "part 1"));
}

TEST(Trace, TakesOnlyPacketsOfThePortAndTheFilter) {
  TestBed bed({{.name = "wan", .packets_per_queue = 500, .flows = 3}, {.name = "lan", .packets_per_queue = 500}}, 1, 1,
              test::kSync);
  // A test frame has its flow number at byte 14, little-endian; those of wan are 0 to 2.
  bed.router().trace("add", Words{"20", "--port", "wan", "--filter", "ether[14] = 2"});
  bed.run_and_check({});
  const auto traces = bed.router().trace("show", {});
  ASSERT_EQ(traces.size(), 20U);
  for (const auto& trace : traces) {
    EXPECT_EQ(trace["port"], "wan");
    EXPECT_THAT(trace["lines"].get<Words>()[0], HasSubstr("flow 2 "));
  }
}

TEST(Trace, ForgetsWhenCleared) {
  TestBed bed({{.name = "wan", .packets_per_queue = 10}}, 1, 1, test::kSync);
  bed.router().trace("add", Words{"100"});
  bed.run_and_check({});
  EXPECT_EQ(bed.router().trace("show", {}).size(), 10U);
  EXPECT_EQ(bed.router().trace("clear", {})["cleared"], 10);
  EXPECT_EQ(bed.router().trace("show", {}).size(), 0U);
  EXPECT_EQ(bed.router().trace("add", Words{"5"})["replaced"], 0);
  EXPECT_EQ(bed.router().trace("add", Words{"3"})["replaced"], 5);
}

TEST(Trace, SaysWhatIsWrong) {
  TestBed bed({{.name = "wan"}}, 1, 1, test::kSync);
  Router& router = bed.router();
  EXPECT_THAT(refusal(router, "ad", {}), HasSubstr("add, show and clear"));
  EXPECT_THAT(refusal(router, "add", {}), HasSubstr("usage: trace add N"));
  EXPECT_THAT(refusal(router, "add", {"0"}), HasSubstr("from 1 to 10000, found '0'"));
  EXPECT_THAT(refusal(router, "add", {"10001"}), HasSubstr("found '10001'"));
  EXPECT_THAT(refusal(router, "add", {"5x"}), HasSubstr("found '5x'"));
  EXPECT_THAT(refusal(router, "add", {"5", "--port"}), HasSubstr("usage"));
  EXPECT_THAT(refusal(router, "add", {"5", "--prot", "wan"}), HasSubstr("unknown option '--prot'"));
  EXPECT_THAT(refusal(router, "add", {"5", "--port", "wam"}), HasSubstr("did you mean 'wan'?"));
  EXPECT_THAT(refusal(router, "add", {"5", "--filter", "tcp and and"}), HasSubstr("filter 'tcp and and': "));
  EXPECT_THAT(refusal(router, "show", {"5"}), HasSubstr("takes no arguments"));
}

TEST(Trace, MayBeAskedForAtAnyTime) {
  TestBed bed({{.name = "a", .queues = 2, .endless = true}, {.name = "b", .endless = true}}, 2, 2, test::kAsync);
  std::jthread asker([&bed] {
    for (int round = 0; round < 50; ++round) {
      bed.router().trace("add", Words{"30", "--filter", "ether proto 0x88b5"});
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_LE(bed.router().trace("show", {}).size(), Tracer::kMost);
      if (round % 10 == 0) bed.router().trace("clear", {});
    }
    while (bed.router().trace("show", {}).empty()) std::this_thread::yield();
    bed.router().stop();
  });
  bed.run_and_check({});
}

}  // namespace
}  // namespace penumbra::runtime
