// SPDX-License-Identifier: Apache-2.0
#include "control/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penumbra::control {
namespace {

using ::testing::HasSubstr;

ConfigNode node_of(const std::string& text) {
  return ConfigNode::parse("{value: '" + text + "'}", "test.yaml", "/configs").at("value");
}
Device device_of(const std::string& text) {
  return parse_device(node_of(text));
}

/// Returns the message with which `parse` refuses the text.
template <class Parse>
std::string refusal(Parse parse, const std::string& text) {
  try {
    parse(node_of(text));
  } catch (const InputError& error) {
    EXPECT_EQ(error.location().file, "test.yaml");
    EXPECT_EQ(error.location().line, 1);
    return error.what();
  }
  return "taken";
}

TEST(ParseDevice, TakesCaptures) {
  const auto plain = std::get<PcapSource>(device_of("pcap:in.pcap"));
  EXPECT_EQ(plain.file, "/configs/in.pcap");
  EXPECT_FALSE(plain.loop);
  EXPECT_EQ(plain.rate.packets_per_second, 0);
  const auto full = std::get<PcapSource>(device_of("pcap:/tmp/in.pcapng,loop,rate=1.5M"));
  EXPECT_EQ(full.file, "/tmp/in.pcapng");
  EXPECT_TRUE(full.loop);
  EXPECT_EQ(full.rate.packets_per_second, 1.5e6);
}

TEST(ParseDevice, TakesSyntheticTraffic) {
  const auto defaults = std::get<SynthSource>(device_of("synth:"));
  EXPECT_FALSE(defaults.ipv6);
  EXPECT_EQ(defaults.frame_bytes, 60);
  EXPECT_EQ(defaults.count, 0U);
  const auto zipf = std::get<SynthSource>(device_of("synth:size=imix,dst=zipf:5000:0.9,count=7,seed=3,rate=20k"));
  EXPECT_EQ(zipf.frame_bytes, 0);
  EXPECT_EQ(zipf.destinations, SynthSource::Destinations::zipf);
  EXPECT_EQ(zipf.flows, 5000U);
  EXPECT_EQ(zipf.exponent, 0.9);
  EXPECT_EQ(zipf.count, 7U);
  EXPECT_EQ(zipf.seed, 3U);
  EXPECT_EQ(zipf.rate.packets_per_second, 20e3);
  const auto prefixes = std::get<SynthSource>(device_of("synth:dst=prefixes:routes.txt,size=1514"));
  EXPECT_EQ(prefixes.routes, "/configs/routes.txt");
  EXPECT_EQ(prefixes.frame_bytes, 1514);
}

TEST(ParseDevice, TakesSyntheticIpv6) {
  const auto defaults = std::get<SynthSource>(device_of("synth:ipv6"));
  EXPECT_TRUE(defaults.ipv6);
  EXPECT_EQ(defaults.frame_bytes, 62);
  for (const char* text : {"synth:size=62,ipv6", "synth:ipv6,size=62"}) {
    EXPECT_EQ(std::get<SynthSource>(device_of(text)).frame_bytes, 62) << text;
  }
  EXPECT_EQ(std::get<SynthSource>(device_of("synth:ipv6,size=imix")).frame_bytes, 0);
  for (const char* text : {"synth:size=61,ipv6", "synth:ipv6,size=61"}) {
    EXPECT_THAT(refusal(parse_device, text), HasSubstr("from 62 to 9214 for size= of IPv6, found '61'")) << text;
  }
  EXPECT_THAT(refusal(parse_device, "synth:ipv6=yes"), HasSubstr("option 'ipv6' of synth takes no value"));
}

TEST(ParseDevice, TakesEthdevs) {
  EXPECT_TRUE(std::holds_alternative<NoSource>(device_of("none")));
  const auto packet = std::get<Ethdev>(device_of("net_af_packet0,iface=eth1"));
  EXPECT_EQ(packet.devargs, "net_af_packet0,iface=eth1");
  EXPECT_FALSE(packet.is_pci);
  EXPECT_TRUE(std::get<Ethdev>(device_of("0000:81:00.0")).is_pci);
  EXPECT_TRUE(std::get<Ethdev>(device_of("81:00.0,mprq_en=1")).is_pci);
  EXPECT_TRUE(std::get<Ethdev>(device_of("pci:0000:81:00.0")).is_pci);
  EXPECT_FALSE(std::get<Ethdev>(device_of("vdev:net_null0")).is_pci);
}

TEST(ParseDevice, RefusesWithAdvice) {
  EXPECT_THAT(refusal(parse_device, ""), HasSubstr("expected pcap:FILE"));
  EXPECT_THAT(refusal(parse_device, "pcap:"), HasSubstr("the file is missing"));
  EXPECT_THAT(refusal(parse_device, "pcap:a.pcap,lop"), HasSubstr("did you mean 'loop'?"));
  EXPECT_THAT(refusal(parse_device, "pcap:a.pcap,loop=1"), HasSubstr("takes no value"));
  EXPECT_THAT(refusal(parse_device, "pcap:a.pcap,rate=fast"), HasSubstr("for rate=, found 'fast'"));
  EXPECT_THAT(refusal(parse_device, "pcap:a.pcap,rate=nan"), HasSubstr("found 'nan'"));
  EXPECT_THAT(refusal(parse_device, "pcap:a.pcap,rate=0"), HasSubstr("found '0'"));
  EXPECT_THAT(refusal(parse_device, "pcap:a.pcap,rate=1,rate=2"), HasSubstr("is given twice"));
  EXPECT_THAT(refusal(parse_device, "in.pcap"), HasSubstr("write 'pcap:in.pcap'"));
  EXPECT_THAT(refusal(parse_device, "pacp:in.pcap,loop"), HasSubstr("did you mean 'pcap'?"));
  EXPECT_THAT(refusal(parse_device, "synth:size=59"), HasSubstr("from 60 to 9214"));
  EXPECT_THAT(refusal(parse_device, "synth:size=65596"), HasSubstr("from 60 to 9214"));
  EXPECT_THAT(refusal(parse_device, "synth:sise=60"), HasSubstr("did you mean 'size'?"));
  EXPECT_THAT(refusal(parse_device, "synth:count=-1"), HasSubstr("found '-1'"));
  EXPECT_THAT(refusal(parse_device, "synth:dst=zip:4"), HasSubstr("zipf[:FLOWS[:EXPONENT]]"));
  EXPECT_THAT(refusal(parse_device, "synth:dst=prefixes:"), HasSubstr("prefixes:FILE"));
  EXPECT_THAT(refusal(parse_device, "net_af_paket0,iface=eth1"), HasSubstr("did you mean 'net_af_packet'?"));
  EXPECT_THAT(refusal(parse_device, "non"), HasSubstr("did you mean 'none'?"));
}

TEST(ParseSink, TakesItsForms) {
  EXPECT_TRUE(std::holds_alternative<CountingSink>(parse_sink(node_of("count"))));
  EXPECT_EQ(std::get<CaptureSink>(parse_sink(node_of("pcap:out"))).file, "/configs/out");
  EXPECT_EQ(std::get<CaptureSink>(parse_sink(node_of("out.pcap"))).file, "/configs/out.pcap");
  EXPECT_THAT(refusal(parse_sink, "pcap:"), HasSubstr("expected count, pcap:FILE"));
  EXPECT_THAT(refusal(parse_sink, "out"), HasSubstr("found 'out'"));
}

}  // namespace
}  // namespace penumbra::control
