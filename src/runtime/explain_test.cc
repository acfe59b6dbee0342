// SPDX-License-Identifier: Apache-2.0
#include "runtime/explain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/test_support.h"
#include "testing/message_of.h"

namespace penumbra::runtime {
namespace {

using nlohmann::ordered_json;
using test::Order;
using test::TestBed;
using testing::HasSubstr;
using Words = std::vector<std::string>;

/// Returns the arguments for a test frame with these orders, one for each stage.
Words order_frame(std::vector<Order> orders, std::uint8_t egress = 1) {
  test::Frame frame{};
  std::ranges::copy(orders, frame.orders.begin());
  frame.egress.fill(egress);
  frame.flow = 7;
  std::string digits;
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&frame);
  for (std::size_t i = 0; i < sizeof frame; ++i) digits += fmt::format("{:02x}", bytes[i]);
  return {"--hex", digits};
}

std::vector<std::string> ports_sent_to(const ordered_json& answer) {
  std::vector<std::string> ports;
  for (const auto& each : answer.at("sent")) ports.push_back(each.at("port"));
  return ports;
}

std::string explain_refusal(Router& router, const std::string& port, const Words& arguments) {
  return message_of<std::invalid_argument>([&] { router.explain(port, arguments); });
}

TEST(Explain, FollowsAFrameThroughTheStages) {
  TestBed bed({{.name = "wan"}, {.name = "lan"}}, 1, 2, test::kSync);
  const Words words = order_frame({Order::late_pass, Order::late_send});
  const auto answer = bed.router().explain("wan", words);
  EXPECT_EQ(answer["port"], "wan");
  EXPECT_EQ(answer["hex"], words[1]);
  ASSERT_EQ(answer["stages"].size(), 2U);
  EXPECT_EQ(answer["stages"][0]["stage"], "test_judge");
  EXPECT_EQ(answer["stages"][0]["verdict"], "pass");
  EXPECT_EQ(answer["stages"][0]["trace"], "flow 7 sequence 0");
  EXPECT_EQ(answer["stages"][1]["stage"], "test_judge.2");
  EXPECT_EQ(answer["verdict"], "send");
  EXPECT_EQ(answer["reason"], nullptr);
  ASSERT_EQ(ports_sent_to(answer), Words{"lan"});
  EXPECT_EQ(answer["sent"][0]["hex"], words[1]);
}

TEST(Explain, SaysWhyAFrameGoesNoFurther) {
  TestBed bed({{.name = "wan"}, {.name = "lan"}}, 1, 2, test::kSync);
  const auto verdict_of = [&bed](std::vector<Order> orders) {
    const auto answer = bed.router().explain("wan", order_frame(std::move(orders)));
    return fmt::format("{} {} after {}", answer["verdict"].get<std::string>(), answer["reason"].get<std::string>(),
                       answer["stages"].size());
  };
  EXPECT_EQ(verdict_of({Order::drop}), "drop test_judge.dropped after 1");
  EXPECT_EQ(verdict_of({Order::late_pass, Order::late_drop}), "drop test_judge.2.late_dropped after 2");
  EXPECT_EQ(verdict_of({Order::late_punt}), "punt test_judge.late_punted after 1");
  EXPECT_EQ(verdict_of({Order::pass, Order::late_pass}), "drop router.undecided after 2");
  EXPECT_EQ(verdict_of({Order::misdirect}), "drop router.undecided after 1");
  EXPECT_EQ(verdict_of({Order::replicate_nowhere}), "drop router.undecided after 1");
  const auto punted = bed.router().explain("wan", order_frame({Order::late_punt}));
  EXPECT_EQ(punted["twin"], nullptr);
  EXPECT_EQ(punted["help"], "punted after it");
}

TEST(Explain, ListsEveryCopy) {
  TestBed bed({{.name = "wan"}, {.name = "lan"}, {.name = "dmz"}}, 1, 1, test::kSync);
  EXPECT_THAT(ports_sent_to(bed.router().explain("lan", order_frame({Order::replicate}))),
              testing::ElementsAre("wan", "dmz"));
  EXPECT_THAT(ports_sent_to(bed.router().explain("wan", order_frame({Order::replicate_other}))),
              testing::ElementsAre("dmz", "lan"));
  const auto some = bed.router().explain("wan", order_frame({Order::replicate_some}));
  EXPECT_THAT(ports_sent_to(some), testing::ElementsAre("dmz"));
  ASSERT_EQ(some["dropped_copies"].size(), 1U);
  EXPECT_EQ(some["dropped_copies"][0]["copies"], 2);
  EXPECT_EQ(some["dropped_copies"][0]["reason"], "test_judge.late_dropped");
  // More frames than the pool has packets: all packets are returned.
  for (int round = 0; round < 50; ++round) bed.router().explain("wan", order_frame({Order::replicate_other}));
}

TEST(Explain, SendsNothingToPortsThatAreGone) {
  test::packet_memory();
  const auto config = test::test_config({"wan", "lan", "dmz"}, 1, 1, test::kSync);
  SparePipeline spare(config);
  Explainer explainer(spare.pipeline(), [](const auto& action) { action(); });
  std::vector<ExplainedPort> ports;
  ports.reserve(config.ports.size());
  for (const auto& each : config.ports) ports.push_back({.info = each.info, .twin = {}});
  const auto explain = [&](Order order) { return explainer.command(ports, "wan", order_frame({order})); };
  ports[1].info.removed = true;
  EXPECT_EQ(explain(Order::late_send)["reason"], "router.port_gone");
  const auto some = explain(Order::replicate);
  EXPECT_THAT(ports_sent_to(some), testing::ElementsAre("dmz"));
  EXPECT_EQ(some["dropped_copies"], ordered_json::parse(R"([{"copies": 1, "reason": "router.port_gone"}])"));
  ports[2].has_device = false;
  const auto none = explain(Order::replicate);
  EXPECT_EQ(none["reason"], "router.port_gone");
  EXPECT_FALSE(none.contains("dropped_copies"));
}

TEST(Explain, ChangesNothingWhilePacketsGoThrough) {
  TestBed bed({{.name = "a", .queues = 2, .endless = true}, {.name = "b", .endless = true}}, 2, 2, test::kAsync);
  std::jthread asker([&bed] {
    for (int round = 0; round < 200; ++round) {
      EXPECT_EQ(bed.router().explain("a", order_frame({Order::late_pass, Order::late_send}))["verdict"], "send");
    }
    bed.router().stop();
  });
  bed.run_and_check({});  // Checks that all received, sent and dropped packets are accounted for.
}

TEST(Explain, SaysWhatIsWrong) {
  TestBed bed({{.name = "wan"}}, 1, 1, test::kSync);
  Router& router = bed.router();
  EXPECT_THAT(explain_refusal(router, "wam", {"src", "10.0.0.1"}), HasSubstr("did you mean 'wan'?"));
  EXPECT_THAT(explain_refusal(router, "wan", {}), HasSubstr("expected a header"));
  EXPECT_THAT(explain_refusal(router, "wan", {"--hex"}), HasSubstr("--hex and the bytes of one frame"));
  EXPECT_THAT(explain_refusal(router, "wan", {"--hex", "0x"}), HasSubstr("hexadecimal"));
  EXPECT_THAT(explain_refusal(router, "wan", {"src", "10.0.0.1"}), HasSubstr("both 'src' and 'dst'"));
}

}  // namespace
}  // namespace penumbra::runtime
