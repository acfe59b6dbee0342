// SPDX-License-Identifier: Apache-2.0
#include "cli/run_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penumbra::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunSummary some_summary() {
  RunSummary summary;
  summary.statistics.received = summary.statistics.sent = {.packets = 12345, .bytes = 740700};
  summary.statistics.received_by_port = {summary.statistics.received, {}};
  summary.statistics.sent_by_port = {{}, summary.statistics.sent};
  summary.statistics.from_host_by_port = {{}, {}};
  summary.ports = {"wan", "lan"};
  summary.device_losses = {{{"missed", 10007}, {"rx_errors", 0}}, {}};
  return summary;
}

TEST(RunSummary, SaysWhatDevicesLost) {
  EXPECT_THAT(to_text(some_summary()), HasSubstr("wan   missed               10,007\n"));
  EXPECT_THAT(to_text(some_summary()), Not(HasSubstr("rx_errors")));
  const auto ports = to_json(some_summary()).at("ports");
  EXPECT_EQ(ports[0]["device_losses"].dump(), R"({"missed":10007,"rx_errors":0})");
  EXPECT_EQ(ports[1]["device_losses"].dump(), "{}");
}

TEST(RunSummary, SaysWhatEnginesNote) {
  RunSummary summary = some_summary();
  summary.notes = {{"cuda", "7 batches in 3 launches"}, {"cuda", "lost: an injected fault"}};
  EXPECT_THAT(to_text(summary), HasSubstr("\ncuda: 7 batches in 3 launches\ncuda: lost: an injected fault\n"));
  EXPECT_EQ(to_json(summary).at("engine_notes")[1].dump(), R"({"engine":"cuda","note":"lost: an injected fault"})");
}

TEST(RunSummary, LeavesOutEnginesWhereNoFunctionHasAShader) {
  RunSummary summary = some_summary();
  summary.cores = {0};
  summary.memory = "no huge pages";
  EXPECT_THAT(to_text(summary), HasSubstr(" on core 0; no huge pages\n"));
  summary.engines = {{"ipv4", "gopt"}};
  EXPECT_THAT(to_text(summary), HasSubstr(" on core 0; ipv4 on engine gopt; no huge pages\n"));
}

TEST(RunSummary, SaysWhetherPacketsAreConserved) {
  RunSummary summary = some_summary();
  EXPECT_THAT(to_text(summary), HasSubstr("\nreceived = sent + dropped + punted: holds\n"));
  summary.statistics.replicated = 3;
  summary.statistics.dropped = 3;
  summary.statistics.reasons = {{.stage = "router", .reason = "tx_full", .packets = 3}};
  EXPECT_THAT(to_text(summary), HasSubstr("\nreceived + replicated = sent + dropped + punted: holds\n"));
  EXPECT_THAT(to_text(summary), HasSubstr("replicated        3\n"));
  EXPECT_EQ(to_json(summary).at("replicated"), 3);
  summary.statistics.replicated = summary.statistics.dropped = 0;
  summary.statistics.reasons.clear();
  ++summary.statistics.received.packets;
  EXPECT_THAT(to_text(summary), HasSubstr("\nreceived = sent + dropped + punted: does NOT hold\n"));
  EXPECT_EQ(to_json(summary).at("conserved"), false);
}

}  // namespace
}  // namespace penumbra::cli
