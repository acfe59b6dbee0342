// SPDX-License-Identifier: Apache-2.0
//
// Tests the messages that a collector receives, with an independent decoder.
#include "functions/flows/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <string>

#include "base/random.h"
#include "functions/flows/ipfix_testing.h"
#include "tables/flows/flow_testing.h"

namespace penumbra::flows {
namespace {

using namespace testing_support;

ExportSettings settings_for(const Collector& collector) {
  const auto config = ConfigNode::parse(
      "export: {collector: '" + collector.address() + "', observation_domain: 4294967295, template_interval: 2s}",
      "test.yaml", ".");
  return read_settings(config).exported.value();
}

ClosedFlow closed_flow(const flow_key& key) {
  return {.key = key,
          .counts = {.packets = 5, .bytes = 0x0102030405, .first = 0, .last = 0, .tcp_flags = 0x1B},
          .first = 1'700'000'000'123,
          .last = 1'700'000'004'567,
          .reason = EndReason::ended};
}

class ExporterTest : public testing::Test {
 protected:
  Record only_record(const Flow& flow) {
    exporter_.add(closed_flow(to_key(flow)), milliseconds(0));
    exporter_.flush();
    collector_.collect();
    EXPECT_EQ(collector_.records.size(), 1U);
    return collector_.records.at(0);
  }

  Collector collector_;
  ExportCounters counters_;
  Exporter exporter_{settings_for(collector_), counters_};
};

TEST_F(ExporterTest, SendsAnIpv4Flow) {
  const Record record = only_record({.is_ipv6 = false,
                                     .source = {0, 0x0A000001},
                                     .destination = {0, 0xC0000201},
                                     .source_port = 1234,
                                     .destination_port = 80,
                                     .protocol = 6,
                                     .vlan = 7});
  EXPECT_EQ(record.size(), 12U);
  EXPECT_EQ(number(record, kSource4), 0x0A000001U);
  EXPECT_EQ(number(record, kDestination4), 0xC0000201U);
  EXPECT_EQ(number(record, kSourcePort), 1234U);
  EXPECT_EQ(number(record, kDestinationPort), 80U);
  EXPECT_EQ(number(record, kProtocol), 6U);
  EXPECT_EQ(number(record, kVlan), 7U);
  EXPECT_EQ(number(record, kPackets), 5U);
  EXPECT_EQ(number(record, kOctets), 0x0102030405U);
  EXPECT_EQ(number(record, kTcpFlags), 0x1BU);
  EXPECT_EQ(number(record, kStart), 1'700'000'000'123U);
  EXPECT_EQ(number(record, kEnd), 1'700'000'004'567U);
  EXPECT_EQ(number(record, kEndReason), 3U);
  EXPECT_EQ(collector_.domain, 4294967295U);
}

TEST_F(ExporterTest, SendsAnIpv6Flow) {
  const Record record = only_record({.is_ipv6 = true,
                                     .source = {0x20010DB800000000, 1},
                                     .destination = {0x20010DB800000000, 2},
                                     .source_port = 1,
                                     .destination_port = 53,
                                     .protocol = 17,
                                     .vlan = 0});
  EXPECT_EQ(record.at(kSource6), (Bytes{0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(record.at(kDestination6), (Bytes{0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(number(record, kDestinationPort), 53U);
  EXPECT_FALSE(record.contains(kSource4));
}

TEST_F(ExporterTest, SendsTypeAndCodeOfIcmpInPlaceOfPorts) {
  const Record record = only_record(
      {.is_ipv6 = false, .source = {0, 1}, .destination = {0, 2}, .destination_port = 0x0301, .protocol = 1});
  EXPECT_EQ(number(record, kIcmpType4), 0x0301U);
  EXPECT_FALSE(record.contains(kDestinationPort));
  exporter_.add(closed_flow(to_key(
                    {.is_ipv6 = true, .source = {}, .destination = {}, .destination_port = 0x8000, .protocol = 58})),
                milliseconds(0));
  exporter_.flush();
  collector_.collect();
  EXPECT_EQ(number(collector_.records.back(), kIcmpType6), 0x8000U);
}

/// The decoder checks the length and sequence number of each message.
TEST_F(ExporterTest, FillsMessagesAndRepeatsTemplates) {
  constexpr std::size_t kFlows = 1000;
  Random random(3);
  for (std::size_t i = 0; i < kFlows; ++i) {
    exporter_.add(closed_flow(any_flow(random)), milliseconds(5 * i));  // five seconds in total
    if (i % 100 == 0) collector_.collect();
  }
  exporter_.flush();
  collector_.collect();
  EXPECT_EQ(collector_.records.size(), kFlows);
  EXPECT_EQ(collector_.template_messages, 3U);
  EXPECT_EQ(counters_.flows, kFlows);
  EXPECT_EQ(counters_.packets, kFlows * 5);
  EXPECT_EQ(counters_.messages, collector_.messages);
  EXPECT_EQ(counters_.templates, 3U);
  EXPECT_LT(collector_.messages, kFlows / 10);
}

TEST_F(ExporterTest, SendsNothingWithoutFlows) {
  exporter_.flush();
  EXPECT_EQ(counters_.messages, 0U);
}

TEST(ExporterWithoutAWay, CountsWhatTheHostDoesNotTake) {
  const auto config = ConfigNode::parse("export: {collector: '192.0.2.1:9'}", "test.yaml", ".");
  ExportSettings settings = read_settings(config).exported.value();
  // The socket may not send to a broadcast address. read_settings() refuses such a collector.
  reinterpret_cast<sockaddr_in*>(&settings.address)->sin_addr.s_addr = INADDR_BROADCAST;
  ExportCounters counters;
  Exporter exporter(settings, counters);
  Random random(4);
  exporter.add(closed_flow(any_flow(random)), milliseconds(0));
  exporter.flush();
  EXPECT_EQ(counters.flows, 0U);
  EXPECT_EQ(counters.lost_flows, 1U);
  EXPECT_EQ(counters.lost_messages, 2U);  // includes the message of the templates
}

}  // namespace
}  // namespace penumbra::flows
