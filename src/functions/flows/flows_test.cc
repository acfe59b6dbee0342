// SPDX-License-Identifier: Apache-2.0
//
// Tests the function in the way in which a pipeline uses it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/shared_data.h"
#include "functions/flows/ipfix_testing.h"
#include "functions/flows/settings.h"
#include "penumbra/errors.h"
#include "tables/capture_frames.h"
#include "tables/flows/flow_packet.h"
#include "testing/function_fixture.h"

namespace penumbra::flows {
namespace {

using namespace testing_support;
using function_testing::append;
using function_testing::Packet;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

/// Returns a TCP packet from 10.0.0.1 to 10.0.0.2.
Bytes tcp_frame(std::uint16_t source_port, std::uint16_t destination_port) {
  Bytes frame{2,  0, 0, 0, 0, 1,  2, 0, 0, 0,  0, 2, 8, 0,  0x45, 0, 0,
              40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0,    0, 2};
  append(frame, source_port, 2);
  append(frame, destination_port, 2);
  frame.resize(54);
  frame[47] = 0x02;
  return frame;
}

class FlowsTest : public function_testing::FunctionTest {
 protected:
  FlowsTest() : FunctionTest("flows") {}
  void process(const std::vector<Bytes>& frames) {
    std::vector<Packet> packets;
    packets.reserve(frames.size());
    for (const Bytes& frame : frames) packets.emplace_back(frame);
    const std::vector<Verdict> verdicts = send(packets);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(verdicts[i], Verdict{});
      EXPECT_EQ(packets[i].frame(), frames[i]);
    }
  }
  Json show(const std::string& topic, const std::vector<std::string>& arguments = {}) {
    return function_->show(topic, arguments);
  }
  Json exporter(const std::string& group, const std::string& key) { return show("exporter")[group][key]; }
  void wait_for_flows(std::size_t count) {
    while (exporter("flows", "open") != count) std::this_thread::sleep_for(milliseconds(1));
  }
  /// Waits until all flows together have `count` packets.
  void wait_for_packets(int count) {
    const auto counted = [this] {
      int packets = 0;
      const Json shown = show("flows");
      for (const Json& flow : shown["flows"]) packets += flow["packets"].get<int>();
      return packets;
    };
    while (counted() != count) std::this_thread::sleep_for(milliseconds(1));
  }
};

TEST_F(FlowsTest, CountsAndLeavesPacketsAsTheyAre) {
  create("{}");
  process({tcp_frame(1000, 80), Bytes(60), tcp_frame(1000, 80), Bytes(13)});
  EXPECT_EQ(trace_, "10.0.0.1:1000 > 10.0.0.2:80 tcp, not known yet");
  // The second packet may be reported after the first packet has opened the flow.
  wait_for_packets(2);
  process({tcp_frame(1000, 80)});
  EXPECT_EQ(trace_, "10.0.0.1:1000 > 10.0.0.2:80 tcp, record 1");
  process({Bytes(60)});
  EXPECT_EQ(trace_, "no flow");
  const Json answer = show("flows");
  ASSERT_EQ(answer["flows"].size(), 1U);
  const Json& flow = answer["flows"][0];
  EXPECT_EQ(flow["packets"], 3);
  EXPECT_EQ(flow["bytes"], 120);
  EXPECT_EQ(flow["flags"], "......S.");
  EXPECT_EQ(exporter("not_accounted", "not_ip"), 2);
  EXPECT_EQ(exporter("not_accounted", "malformed"), 1);
}

/// The worker sees the FIN of a known flow and reports it to the thread. The other timeouts must not matter.
TEST_F(FlowsTest, EndsAFlowSoonAfterItsFin) {
  create("{idle_timeout: 1440m, active_timeout: 1440m}");
  process({tcp_frame(1000, 80)});
  wait_for_flows(1);
  Bytes fin = tcp_frame(1000, 80);
  fin[47] = 0x11;
  process({fin});
  EXPECT_THAT(trace_, HasSubstr("record 1"));
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (exporter("flows", "open") != 0 && std::chrono::steady_clock::now() < patience) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(exporter("flows", "open"), 0);
}

TEST_F(FlowsTest, ShowsWhatIsAskedFor) {
  create("{}");
  process({tcp_frame(1, 80), tcp_frame(2, 80), tcp_frame(2, 443), tcp_frame(443, 2)});
  wait_for_flows(4);
  const auto shown = [this](const std::vector<std::string>& arguments) {
    return show("flows", arguments)["flows"].size();
  };
  EXPECT_EQ(shown({}), 4U);
  EXPECT_EQ(shown({"--limit", "2"}), 2U);
  EXPECT_EQ(shown({"all", "dport", "80"}), 2U);
  EXPECT_EQ(shown({"port", "443"}), 2U);
  EXPECT_EQ(shown({"sport", "2", "dport", "443"}), 1U);
  EXPECT_EQ(shown({"src", "10.0.0.0/24"}), 4U);
  EXPECT_EQ(shown({"dst", "10.0.0.1"}), 0U);
  EXPECT_EQ(shown({"host", "10.0.0.1", "proto", "tcp"}), 4U);
  EXPECT_EQ(shown({"src", "::/0"}), 0U);
  EXPECT_EQ(shown({"proto", "17"}), 0U);
  EXPECT_EQ(shown({"vlan", "0"}), 4U);
  const auto total = [this](const std::vector<std::string>& arguments) {
    const Json answer = show("flows", arguments);
    EXPECT_EQ(answer["truncated"], answer["flows"].size() < answer["total"].get<std::size_t>());
    return answer["total"].get<int>();
  };
  EXPECT_EQ(total({"--limit", "2"}), 4);
  EXPECT_EQ(total({"--limit", "4"}), 4);
  EXPECT_EQ(total({"--limit", "1", "port", "443"}), 2);
  EXPECT_EQ(total({"port", "444"}), 0);
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{{"x"},
                                                                                     {"src"},
                                                                                     {"src", "10.0.0.1/8"},
                                                                                     {"port", "65536"},
                                                                                     {"proto", "256"},
                                                                                     {"vlan", "4096"},
                                                                                     {"2"},
                                                                                     {"--limit"}}) {
    EXPECT_THROW(show("flows", wrong), std::invalid_argument) << wrong[0];
  }
  EXPECT_THROW(show("exporter", {"x"}), std::invalid_argument);
}

/// The destructor of the function exports all packets.
TEST_F(FlowsTest, ExportsEverythingInTheEnd) {
  const auto capture = shared_data() / "pcap" / "tcpreplay_test.pcap";
  if (!exists(capture)) GTEST_SKIP() << capture << " is not there";
  Collector collector;
  create("{export: {collector: '" + collector.address() + "'}}");
  std::uint64_t packets = 0, bytes = 0;
  std::vector<Bytes> chunk;
  for (const auto& frame : frames_of(capture)) {
    flow_key key{};
    FlowPacket packet;
    if (read_frame(parse_headers(std::as_bytes(std::span(frame))), frame.data(), key, packet) == FlowFrame::flow) {
      ++packets;
      bytes += packet.bytes;
    }
    chunk.push_back(frame);
    if (chunk.size() == Chunk::kCapacity) process(std::exchange(chunk, {}));
  }
  process(chunk);
  EXPECT_EQ(exporter("not_accounted", "ring_full"), 0);
  function_.reset();
  collector.collect();
  std::uint64_t told_packets = 0, told_bytes = 0;
  for (const Record& record : collector.records) {
    told_packets += number(record, kPackets);
    told_bytes += number(record, kOctets);
    EXPECT_LE(number(record, kStart), number(record, kEnd));
  }
  EXPECT_GT(packets, 0U);
  EXPECT_EQ(told_packets, packets);
  EXPECT_EQ(told_bytes, bytes);
}

/// Every number of `show exporter` must have a metric with the same value.
TEST_F(FlowsTest, HasTheMetricsThatItShows) {
  Collector collector;
  const auto config = [&collector](const std::string& idle_timeout) {
    return "{max_flows: 2, idle_timeout: " + idle_timeout + ", export: {collector: '" + collector.address() + "'}}";
  };
  create(config("60m"));
  process({tcp_frame(1, 80), tcp_frame(2, 80), tcp_frame(3, 80), Bytes(60), Bytes(13)});
  while (exporter("not_accounted", "table_full") != 1) std::this_thread::sleep_for(milliseconds(1));
  function_->exchange(*make(config("100ms")));
  while (exporter("exported", "flows") != 2) std::this_thread::sleep_for(milliseconds(1));
  std::map<std::string, std::uint64_t> found;
  for (const FunctionMetric& metric : function_->metrics()) {
    EXPECT_FALSE(metric.help.empty());
    std::string name = metric.name;
    for (const auto& [label, value] : metric.labels) name.append(" ").append(label).append(" ").append(value);
    EXPECT_TRUE(found.emplace(name, metric.value).second) << name;
  }
  const Json shown = show("exporter");
  const auto group = [&](const std::string& name, const std::map<std::string, std::string>& metrics) {
    EXPECT_EQ(shown[name].size(), metrics.size());
    for (const auto& [key, metric] : metrics) EXPECT_EQ(found.at(metric), shown[name][key]) << metric;
  };
  group("closed", {{"idle", "flows_closed reason idle"},
                   {"active", "flows_closed reason active"},
                   {"ended", "flows_closed reason ended"},
                   {"forced", "flows_closed reason forced"}});
  group("exported", {{"flows", "flows_exported_records"},
                     {"packets", "flows_exported_packets"},
                     {"bytes", "flows_exported_bytes"},
                     {"messages", "flows_export_messages"},
                     {"templates", "flows_export_templates"},
                     {"lost_messages", "flows_export_failed_messages"},
                     {"lost_flows", "flows_export_lost_records"}});
  group("not_accounted", {{"not_ip", "flows_not_accounted_packets reason not_ip"},
                          {"malformed", "flows_not_accounted_packets reason malformed"},
                          {"ring_full", "flows_not_accounted_packets reason ring_full"},
                          {"table_full", "flows_not_accounted_packets reason table_full"},
                          {"no_place", "flows_not_accounted_packets reason no_place"},
                          {"collision", "flows_not_accounted_packets reason collision"}});
  EXPECT_EQ(found.at("flows_open"), shown["flows"]["open"]);
  EXPECT_EQ(found.at("flows_most"), 2U);
  EXPECT_EQ(found.at("flows_opened"), 2U);
  EXPECT_EQ(found.at("flows_not_accounted_packets reason table_full"), 1U);
}

TEST_F(FlowsTest, TakesOverAnotherCollector) {
  Collector first, second;
  const auto config = [](const Collector& collector) {
    return "{idle_timeout: 1s, export: {collector: '" + collector.address() + "'}}";
  };
  create(config(first));
  const auto next = make(config(second));
  const auto node = parse(config(second));
  const auto changes = function_->differences(*next, node);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_THAT(changes[0], HasSubstr(second.address()));
  function_->exchange(*next);
  EXPECT_TRUE(function_->differences(*make(config(second)), node).empty());
  process({tcp_frame(1, 2)});
  function_.reset();
  first.collect();
  second.collect();
  EXPECT_EQ(first.records.size(), 0U);
  EXPECT_EQ(second.records.size(), 1U);
}

TEST_F(FlowsTest, TellsWhatARestartTakes) {
  create("{max_flows: 10}");
  EXPECT_THROW(function_->differences(*make("{max_flows: 11}"), parse("{max_flows: 11}")), InputError);
  const auto changes = function_->differences(*make("{max_flows: 10, idle_timeout: 1s, active_timeout: 1m}"),
                                              parse("{max_flows: 10, idle_timeout: 1s, active_timeout: 1m}"));
  EXPECT_EQ(changes.size(), 2U);
}

TEST_F(FlowsTest, RefusesWrongConfiguration) {
  for (const char* wrong :
       {"{max_flows: 0}", "{max_flows: 100000001}", "{idle_timeout: 99ms}", "{idle_timeout: 1441m}",
        "{idle_timeout: 5}", "{active_timeout: never}", "{export: {}}", "{export: {collector: 10.0.0.1}}",
        "{export: {collector: 'x:1'}}", "{export: {collector: '10.0.0.1:0'}}",
        "{export: {collector: '10.0.0.1:65536'}}", "{export: {collector: '::1:4739'}}",
        "{export: {collector: '10.0.0.1:1', observation_domain: 4294967296}}",
        "{export: {collector: '10.0.0.1:1', template_interval: 10ms}}", "{exporter: {}}"}) {
    EXPECT_THROW(make(wrong), InputError) << wrong;
  }
  make("{export: {collector: '[2001:db8::1]:4739'}}");
}

}  // namespace
}  // namespace penumbra::flows
