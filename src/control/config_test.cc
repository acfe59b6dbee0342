// SPDX-License-Identifier: Apache-2.0
#include "control/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/permitted_cores.h"
#include "control/bad_case.h"
#include "penumbra/function.h"
#include "testing/message_of.h"

namespace penumbra::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A function for this test, which so does not depend on the functions of the build.
std::unique_ptr<Function> create_nothing(const ConfigNode& /*config*/, const FunctionContext& /*context*/) {
  return nullptr;
}
const bool kSampleFunction = register_function({"sample", "a function for tests", {}, create_nothing});

RouterConfig parse(const std::string& text) {
  return parse_config(text, "router.yaml", "/etc/penumbra");
}

/// Returns the smallest valid configuration, with `keys` added to its port.
std::string with_port(const std::string& keys) {
  return "ports: [{name: a, device: none" + keys + "}]\npipeline: [sample]\n";
}
std::string with_top(const std::string& lines) {
  return with_port("") + lines;
}

InputError error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const InputError& error) {
    return error;
  }
  ADD_FAILURE() << "accepted: " << text;
  return {{}, ""};
}

unsigned first_core() {
  return permitted_cores().front();
}

TEST(Config, KnowsItsDefaults) {
  const auto config = parse("ports:\n- {name: a, device: none}\n- {name: b, device: net_null0}\npipeline: [sample]\n");
  ASSERT_EQ(config.ports.size(), 2U);
  EXPECT_EQ(config.ports[0].info.name, "a");
  EXPECT_EQ(config.ports[0].info.index, 0);
  EXPECT_EQ(config.ports[0].info.mac, MacAddress{0x020000000001});
  EXPECT_TRUE(config.ports[0].info.promiscuous);
  EXPECT_EQ(config.ports[0].info.mtu, 1500);
  EXPECT_EQ(config.ports[0].queues, 0);
  EXPECT_TRUE(std::holds_alternative<control::CountingSink>(config.ports[0].sink));
  EXPECT_EQ(config.ports[0].location.line, 2);
  EXPECT_EQ(config.ports[1].info.index, 1);
  EXPECT_EQ(config.ports[1].info.mac, MacAddress{0});
  EXPECT_FALSE(config.ports[1].info.promiscuous);
  EXPECT_THAT(config.cores, ElementsAre(first_core()));
  EXPECT_EQ(config.sleep, std::chrono::microseconds(1000));
  ASSERT_EQ(config.pipeline.size(), 1U);
  EXPECT_EQ(config.pipeline[0].function, "sample");
  EXPECT_EQ(config.pipeline[0].engine, "auto");
  EXPECT_EQ(config.control.socket, default_socket());
  EXPECT_EQ(config.control.access.mode, mode_t{0600});
  EXPECT_EQ(config.control.read_only_socket, "");
}

TEST(Config, ListensForFpmWhereAndAsLongAsItSays) {
  const fpm::Config unsaid = parse(with_top("")).fpm;
  EXPECT_EQ(unsaid.listen.text, "127.0.0.1:2620");
  EXPECT_EQ(to_string(unsaid.listen.endpoint), "127.0.0.1:2620");
  EXPECT_EQ(unsaid.settle, std::chrono::seconds(30));
  EXPECT_EQ(unsaid.hold, std::chrono::seconds(120));
  const fpm::Config said = parse(with_top("fpm: {listen: '192.0.2.1:99', settle: 100ms, hold: 1440m}\n")).fpm;
  EXPECT_EQ(said.listen.text, "192.0.2.1:99");
  EXPECT_EQ(to_string(said.listen.endpoint), "192.0.2.1:99");
  EXPECT_EQ(to_string(parse(with_top("fpm: {listen: '[2001:db8::1]:99'}\n")).fpm.listen.endpoint), "[2001:db8::1]:99");
  EXPECT_EQ(said.settle, std::chrono::milliseconds(100));
  EXPECT_EQ(said.hold, std::chrono::hours(24));
}

TEST(Config, MayBeEmpty) {
  const RouterConfig config = parse("ports: []\npipeline: []\n");
  EXPECT_TRUE(config.ports.empty());
  EXPECT_TRUE(config.pipeline.empty());
}

TEST(Config, LetsWorkersNeverSleep) {
  EXPECT_EQ(parse(with_top("workers: {sleep: never}\n")).sleep, std::chrono::microseconds(0));
  EXPECT_EQ(parse(with_top("workers: {sleep: 10us}\n")).sleep, std::chrono::microseconds(10));
}

TEST(Config, TakesEveryKey) {
  const auto config = parse(
      "ports:\n"
      "  - name: wan.1-a_B\n"
      "    device: 'pcap:in.pcap,loop'\n"
      "    sink: out.pcap\n"
      "    queues: 64\n"
      "    mac: 02:00:00:00:12:34\n"
      "    mtu: 9194\n"
      "    promiscuous: false\n"
      "    twin: wan0\n"
      "    addresses: [192.0.2.1/24, 10.1.2.3/8, \"2001:db8::1/64\", 198.51.100.7/32]\n"
      "workers: {cores: [" +
      std::to_string(first_core()) +
      "], sleep: 1ms}\n"
      "engine: scalar\n"
      "pipeline:\n"
      "  - sample: {engine: auto, depth: 3}\n"
      "  - sample: {depth: 4}\n"
      "punts: {each: 500, sample.odd: 7}\n"
      "control: {socket: run/p.sock, group: 0, read_only: {socket: run/r.sock, mode: \"0666\"}}\n");
  const auto& port = config.ports.at(0);
  EXPECT_EQ(port.info.name, "wan.1-a_B");
  EXPECT_EQ(std::get<control::PcapSource>(port.device).file, "/etc/penumbra/in.pcap");
  EXPECT_EQ(std::get<control::CaptureSink>(port.sink).file, "/etc/penumbra/out.pcap");
  EXPECT_EQ(port.queues, 64);
  EXPECT_EQ(config.sleep, std::chrono::milliseconds(1));
  EXPECT_EQ(port.info.mac, MacAddress{0x020000001234});
  EXPECT_EQ(port.info.mtu, 9194);
  EXPECT_EQ(port.twin, "wan0");
  EXPECT_FALSE(port.info.promiscuous);
  ASSERT_EQ(port.info.ipv6_addresses.size(), 1U);
  EXPECT_EQ(to_string(port.info.ipv6_addresses[0].address), "2001:db8::1");
  EXPECT_EQ(to_string(port.info.ipv6_addresses[0].network), "2001:db8::/64");
  ASSERT_EQ(port.info.addresses.size(), 3U);
  EXPECT_EQ(to_string(port.info.addresses[1].address), "10.1.2.3");
  EXPECT_EQ(to_string(port.info.addresses[1].network), "10.0.0.0/8");
  EXPECT_EQ(to_string(port.info.addresses[2].network), "198.51.100.7/32");
  ASSERT_EQ(config.pipeline.size(), 2U);
  EXPECT_EQ(config.pipeline[0].engine, "auto");
  EXPECT_THAT(config.pipeline[0].config.keys(), ElementsAre("depth"));
  EXPECT_EQ(config.pipeline[0].config.at("depth").integer(0, 9), 3U);
  EXPECT_EQ(config.pipeline[0].config.at("depth").location().line, 14);
  EXPECT_EQ(config.pipeline[1].engine, "scalar");
  EXPECT_EQ(config.control.socket, "/etc/penumbra/run/p.sock");
  EXPECT_EQ(config.control.access.group, gid_t{0});
  EXPECT_EQ(config.control.access.mode, mode_t{0660});
  EXPECT_EQ(config.control.read_only_socket, "/etc/penumbra/run/r.sock");
  EXPECT_EQ(config.control.read_only_access.group, std::nullopt);
  EXPECT_EQ(config.control.read_only_access.mode, mode_t{0666});
  EXPECT_EQ(config.punts.limit_of("sample.odd"), 7);
  EXPECT_EQ(config.punts.limit_of("sample.even"), 500);
}

TEST(Config, CallsATwinLikeItsPortUnlessTold) {
  const auto config = parse(
      "ports: [{name: a, device: none, twin: true}, {name: b, device: none, twin: false}, {name: c, device: none}]\n"
      "pipeline: [sample]\n");
  EXPECT_EQ(config.ports[0].twin, "a");
  EXPECT_EQ(config.ports[1].twin, "");
  EXPECT_EQ(config.ports[2].twin, "");
}

TEST(Config, GivesAFunctionAMapEvenWhereTheFileHasNone) {
  const auto config = parse("ports: [{name: a, device: none}]\npipeline:\n- sample\n- sample:\n- {sample: }\n");
  ASSERT_EQ(config.pipeline.size(), 3U);
  for (const auto& stage : config.pipeline) {
    EXPECT_TRUE(stage.config.is_map());
    EXPECT_THAT(stage.config.keys(), ElementsAre());
  }
  EXPECT_EQ(config.pipeline[0].config.location().line, 3);
  EXPECT_EQ(config.pipeline[1].config.location().line, 4);
}

TEST(Config, AliasesMayRepeatAPart) {
  const auto config = parse("ports: [{name: a, device: &d none}, {name: b, device: *d}]\npipeline: [sample]\n");
  EXPECT_EQ(config.ports.size(), 2U);
}

class ConfigErrors : public ::testing::TestWithParam<BadCase> {};

TEST_P(ConfigErrors, SayWhereAndWhat) {
  expect_refused(GetParam(), "router.yaml", [] { parse(GetParam().text); });
}

INSTANTIATE_TEST_SUITE_P(
    Top, ConfigErrors,
    ::testing::Values(
        BadCase{"", 0, 0, "is empty"}, BadCase{"# nothing but a comment\n", 0, 0, "is empty"},
        BadCase{"[1, 2]", 1, 1,
                "expected a map with the keys ports, workers, engine, pipeline, punts, control, metrics, fpm, found a "
                "list"},
        BadCase{"port: []\n", 1, 1, "unknown key 'port' in the configuration; did you mean 'ports'?"},
        BadCase{"pipeline: [sample]\n", 1, 1, "'ports' is missing"},
        BadCase{"ports:\npipeline: [sample]\n", 1, 1, "expected a list for ports, found nothing"},
        BadCase{"ports: {}\npipeline: [sample]\n", 1, 8, "expected a list for ports, found a map"},
        BadCase{"ports: [{name: a, device: none}]\n", 1, 1, "'pipeline' is missing"},
        BadCase{with_top("pipeline: [sample]\n"), 3, 1, "key 'pipeline' is given twice"},
        BadCase{with_top("engine: skalar\n"), 3, 9, "unknown engine 'skalar'; did you mean 'scalar'?"},
        BadCase{with_top("engine: scalar,width=4\n"), 3, 9, "engine 'scalar' has no setting 'width'"},
        BadCase{with_top("engine: [scalar]\n"), 3, 9, "expected a text for engine, found a list"},
        BadCase{with_top("workers: [0]\n"), 3, 10, "expected a map with the keys cores, sleep, found a list"},
        BadCase{with_top("workers: {core: [0]}\n"), 3, 11, "did you mean 'cores'?"},
        BadCase{with_top("workers: {cores: []}\n"), 3, 18, "expected at least one core"},
        BadCase{with_top("workers: {cores: 0}\n"), 3, 18, "expected a list for workers.cores, found '0'"},
        BadCase{with_top("workers: {cores: [-1]}\n"), 3, 19, "expected a whole number from 0 to 1023"},
        BadCase{with_top("workers: {cores: [1023]}\n"), 3, 19, "this process may not run on core 1023, only on "},
        BadCase{with_top("workers: {sleep: 9us}\n"), 3, 18,
                "expected a time from 10us to 1ms, or 'never', found '9us'"},
        BadCase{with_top("workers: {sleep: 2ms}\n"), 3, 18, "found '2ms'"},
        BadCase{with_top("workers: {sleep: 100}\n"), 3, 18, "found '100'"},
        BadCase{with_top("workers: {sleep: -1us}\n"), 3, 18, "found '-1us'"},
        BadCase{with_top("workers: {sleep: 99999999999us}\n"), 3, 18, "found '99999999999us'"},
        BadCase{with_top("workers: {sleep: [1ms]}\n"), 3, 18, "expected a text for workers.sleep, found a list"},
        BadCase{with_top("control: {sokcet: x}\n"), 3, 11, "did you mean 'socket'?"},
        BadCase{with_top("control: {group: no such group}\n"), 3, 18, "there is no group 'no such group'"},
        BadCase{with_top("control: {mode: 0640}\n"), 3, 17, "found '0640'"},
        BadCase{with_top("control: {mode: 0060}\n"), 3, 17, "found '0060'"},
        BadCase{with_top("control: {mode: 10600}\n"), 3, 17, "found '10600'"},
        BadCase{with_top("control: {read_only: {mode: 0600}}\n"), 3, 22, "'socket' is missing"},
        BadCase{with_top("control: {socket: a/../b, read_only: {socket: b}}\n"), 3, 47, "takes all commands already"},
        BadCase{with_top("metrics: {}\n"), 3, 10, "'listen' is missing"},
        BadCase{with_top("metrics: {listen: localhost:1}\n"), 3, 19, "A.B.C.D:PORT"},
        BadCase{with_top("control: {socket: " + std::string(200, 'x') + "}\n"), 3, 19, "at most 107 bytes"},
        BadCase{with_top("--- \nports: []\n"), 3, 1, "a second document begins here"},
        BadCase{"ports: [\n", 2, 1, "not valid YAML"}, BadCase{"a: *nobody\n", 1, 4, "not valid YAML"}));

INSTANTIATE_TEST_SUITE_P(
    Ports, ConfigErrors,
    ::testing::Values(
        BadCase{with_port(", dvice: x"), 1, 33, "unknown key 'dvice' in ports[0]; did you mean 'device'?"},
        BadCase{"ports: [{device: none}]\npipeline: [sample]\n", 1, 9, "'name' is missing in ports[0]"},
        BadCase{"ports: [{name: a}]\npipeline: [sample]\n", 1, 9, "'device' is missing in ports[0]"},
        BadCase{"ports: [{name: 'a b', device: none}]\npipeline: [sample]\n", 1, 16, "expected a name of 1 to 31"},
        BadCase{"ports: [{name: '', device: none}]\npipeline: [sample]\n", 1, 16, "expected a name of 1 to 31"},
        BadCase{"ports: [{name: " + std::string(32, 'x') + ", device: none}]\npipeline: [sample]\n", 1, 16, "1 to 31"},
        BadCase{"ports:\n- {name: a, device: none}\n- {name: a, device: none}\npipeline: [sample]\n", 3, 10,
                "the name 'a' is in line 2 already"},
        BadCase{with_port(", queues: 0"), 1, 41, "expected a whole number from 1 to 64 for ports[0].queues, found '0'"},
        BadCase{with_port(", queues: 65"), 1, 41, "from 1 to 64"},
        BadCase{with_port(", mtu: 67"), 1, 38, "from 68 to 9194"},
        BadCase{with_port(", mtu: 9195"), 1, 38, "from 68 to 9194"},
        BadCase{with_port(", mtu: 1500.0"), 1, 38, "from 68 to 9194"},
        BadCase{with_port(", mac: 02:00:00:00:00"), 1, 38, "expected a MAC address"},
        BadCase{with_port(", mac: 01:00:00:00:00:01"), 1, 38, "it is a group address"},
        BadCase{with_port(", mac: 00:00:00:00:00:00"), 1, 38, "it is zero"},
        BadCase{with_port(", promiscuous: yes"), 1, 46, "expected true or false for ports[0].promiscuous, found 'yes'"},
        BadCase{with_port(", twin: sixteen_letters_"), 1, 39, "1 to 15 letters"},
        BadCase{with_port(", twin: ."), 1, 39, "the name of an interface"},
        BadCase{with_port(", twin: a/b"), 1, 39, "the name of an interface"},
        BadCase{"ports: [{name: longer_than_sixteen, device: none, twin: true}]\npipeline: [sample]\n", 1, 57,
                "found 'longer_than_sixteen'"},
        BadCase{"ports:\n- {name: a, device: none, twin: x}\n- {name: b, device: none, twin: x}\npipeline: [sample]\n",
                3, 33, "the twin 'x' is in line 2 already"},
        BadCase{with_port("") + "punts: 5\n", 3, 8, "expected reasons with packets a second"},
        BadCase{with_port("") + "punts: {each: 0}\n", 3, 15, "from 1 to 100000000"},
        BadCase{with_top("fpm: {listen: 2620}\n"), 3, 15,
                "with a TCP port (A.B.C.D:PORT or [X:X::X]:PORT), found '2620'"},
        BadCase{with_top("fpm: {listen: '127.0.0.1:0'}\n"), 3, 15, "with a TCP port (A.B.C.D:PORT or"},
        BadCase{with_top("fpm: {hold: 99ms}\n"), 3, 13, "expected a time from 100ms to 1440m, found '99ms'"},
        BadCase{with_top("fpm: {settle: 1441m}\n"), 3, 15, "found '1441m'"},
        BadCase{with_port(", addresses: 192.0.2.1/24"), 1, 44, "expected a list"},
        BadCase{with_port(", addresses: [192.0.2.1]"), 1, 45, "(A.B.C.D/LENGTH), found '192.0.2.1'"},
        BadCase{with_port(", addresses: [192.0.2.1/33]"), 1, 45, "(A.B.C.D/LENGTH)"},
        BadCase{with_port(", addresses: [192.0.2.1/]"), 1, 45, "(A.B.C.D/LENGTH)"},
        BadCase{with_port(", addresses: [default]"), 1, 45, "(A.B.C.D/LENGTH)"},
        BadCase{with_port(", addresses: [127.0.0.1/8]"), 1, 45, "it is not unicast"},
        BadCase{with_port(", addresses: ['2001:db8::1']"), 1, 45, "(X:X::X/LENGTH), found '2001:db8::1'"},
        BadCase{with_port(", addresses: ['2001:db8::1/129']"), 1, 45, "(X:X::X/LENGTH)"},
        BadCase{with_port(", addresses: ['::1/128']"), 1, 45, "it is not unicast"},
        BadCase{with_port(", addresses: ['ff02::1/64']"), 1, 45, "it is not unicast"},
        BadCase{with_port(", addresses: ['fe80::1/64']"), 1, 45, "is link-local"},
        BadCase{with_port(", addresses: ['2001:db8::/64']"), 1, 45, "that of all routers of its network"},
        BadCase{with_port(", addresses: ['2001:db8::1/64', '2001:db8:0::1/48']"), 1, 63, "is in line 1 already"},
        BadCase{with_port(", addresses: [10.0.0.0/24]"), 1, 45, "it is the address of its network"},
        BadCase{with_port(", addresses: [10.0.0.255/24]"), 1, 45, "it is the broadcast address of its network"},
        BadCase{with_port(", addresses: [192.0.2.1/24, 192.0.2.1/32]"), 1, 59,
                "the address 192.0.2.1 is in line 1 already"},
        BadCase{"ports:\n- {name: a, device: net_null0, sink: count}\npipeline: [sample]\n", 2, 38,
                "a sink goes with a built-in source"}));

INSTANTIATE_TEST_SUITE_P(
    Pipeline, ConfigErrors,
    ::testing::Values(
        BadCase{"ports: [{name: a, device: none}]\npipeline: sample\n", 2, 11, "expected a list"},
        BadCase{"ports: [{name: a, device: none}]\npipeline: [smaple]\n", 2, 12,
                "unknown function 'smaple'; did you mean 'sample'?"},
        BadCase{"ports: [{name: a, device: none}]\npipeline: [[sample]]\n", 2, 12, "expected a function's name"},
        BadCase{"ports: [{name: a, device: none}]\npipeline: [{sample: , echo: }]\n", 2, 12, "found 2 keys"},
        BadCase{"ports: [{name: a, device: none}]\npipeline: [{sample: {engine: gpu}}]\n", 2, 30,
                "unknown engine 'gpu'"},
        BadCase{"ports: [{name: a, device: none}]\npipeline: [{sample: {engine: auto, engine: auto}}]\n", 2, 30,
                "'engine' is given twice"},
        BadCase{"ports: [{name: a, device: none}]\npipeline: [{sample: {[1]: 2}}]\n", 2, 22, "expected a text"}));

TEST(Config, RejectsMoreThan1024Ports) {
  std::string text = "pipeline: [sample]\nports:\n";
  for (int i = 0; i < 1024; ++i) text += "- {name: p" + std::to_string(i) + ", device: none}\n";
  EXPECT_EQ(parse(text).ports.back().info.mac, MacAddress{0x020000000400});
  EXPECT_THAT(error_of(text + "- {name: q, device: none}\n").what(),
              HasSubstr("expected at most 1024 ports, found 1025"));
}

TEST(Config, ACoreStandsOnce) {
  const std::string core = std::to_string(first_core());
  EXPECT_THAT(error_of(with_top("workers: {cores: [" + core + ", " + core + "]}\n")).what(),
              HasSubstr("is given twice"));
}

TEST(Config, SaysWhyAFileCannotBeRead) {
  EXPECT_THAT(message_of([&] { load_config("/nonexistent/router.yaml"); }),
              ::testing::StartsWith("/nonexistent/router.yaml: cannot be read: No such file"));
}

}  // namespace
}  // namespace penumbra::control
