// SPDX-License-Identifier: Apache-2.0
//
// Compares the switch on every engine with an oracle that shares no code with it. Also tests everything that depends on
// the clock.
#include "functions/l2/l2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "engines/conformance.h"
#include "functions/l2/oracle.h"
#include "penumbra/errors.h"
#include "testing/function_runner.h"
#include "testing/pool_packets.h"

namespace penumbra::l2 {
namespace {

using function_testing::append;
using function_testing::Bytes;
using oracle::Judgement;
using testing::ElementsAre;

constexpr std::uint16_t kPorts = 6;
constexpr std::array<std::uint16_t, kPorts> kMtus{1500, 1400, 1200, 1500, 1000, 900};

std::vector<PortInfo> some_ports() {
  std::vector<PortInfo> ports(kPorts);
  for (std::uint16_t i = 0; i < kPorts; ++i) {
    ports[i].name = "p" + std::to_string(i);
    ports[i].index = i;
    ports[i].mac = {0x02AA00000000U + i};
    ports[i].mtu = kMtus[i];
  }
  return ports;
}

ConfigNode parse(const std::string& text) {
  return ConfigNode::parse(text, "test.yaml", ".");
}

oracle::Address address(std::uint64_t mac) {
  oracle::Address bytes;
  append(bytes, mac, 6);
  return bytes;
}

/// Returns a frame, untagged if `tag` is std::nullopt.
Bytes frame(std::uint64_t to, std::uint64_t from, std::optional<std::uint16_t> tag = {}, std::size_t payload = 46,
            std::uint16_t ethertype = 0x88B5) {
  Bytes bytes;
  append(bytes, to, 6);
  append(bytes, from, 6);
  if (tag) append(bytes, 0x81000000U | *tag, 4);
  append(bytes, ethertype, 2);
  for (std::size_t i = 0; i < payload; ++i) bytes.push_back(static_cast<std::uint8_t>(i));
  return bytes;
}

/// Drives a switch on an engine in the same way as a worker.
class Bench {
 public:
  Bench(const std::string& engine, const std::string& config, std::vector<std::uint16_t> behind = {})
      : ports_(some_ports()),
        function_(read_configuration(parse(config), ports_),
                  {.ports = ports_, .grace_periods = no_readers_, .later_ethertypes = behind}),
        runner_(function_, engine) {
    function_.bind(ports_);
  }
  ~Bench() {
    EXPECT_EQ(rte_mempool_in_use_count(function_testing::packet_memory()), 0U);
    conformance::expect_no_device_failure(runner_.engine());
  }

  Switch& function() { return function_; }
  /// Processes one chunk and returns the result for each frame.
  std::vector<Judgement> process(std::uint16_t port, const std::vector<Bytes>& frames) {
    chunk_.size = static_cast<std::uint16_t>(frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) chunk_.packets[i] = function_testing::packet_of(frames[i]);
    runner_.process(chunk_, port);
    std::vector<Judgement> judgements;
    for (std::uint16_t i = 0; i < chunk_.size; ++i) {
      trace_ = runner_.trace(chunk_, i);
      judgements.push_back(function_testing::take(function_, chunk_, i));
    }
    return judgements;
  }
  Judgement process(std::uint16_t port, const Bytes& bytes) { return process(port, std::vector<Bytes>{bytes}).front(); }
  /// Returns the trace of the last frame.
  const std::string& trace() const { return trace_; }

  /// Waits until the switch has learned exactly the stations of `network`.
  void wait_for(const oracle::Network& network) {
    wait_until([&] {
      std::map<oracle::Network::Key, unsigned> found;
      function_.stations().for_each([&](Station station, Entry entry) {
        if (!entry.is_static()) found.emplace(std::pair(station.vlan, address(station.mac.value)), entry.port());
      });
      return found == network.stations;
    });
  }
  static void wait_until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::yield();
    }
  }

 private:
  NoReaders no_readers_;
  std::vector<PortInfo> ports_;
  Switch function_;
  function_testing::Runner runner_;
  Chunk chunk_;
  std::string trace_;
};

constexpr const char* kVlans = R"(
ports:
  p0: {access: 10}
  p1: {access: 20}
  p2: {trunk: {vlans: [10, 20-29], native: 20}}
  p3: {trunk: {vlans: [10, 30]}}
  p4: {trunk: {vlans: [20, 30-31], native: 10}}
ageing: 0
max_stations: 40
static:
  - {mac: "02:00:00:00:00:05", vlan: 10, port: p0}
  - {mac: "02:00:00:00:00:06", vlan: 20, port: p4}
)";

oracle::Network network_of(const std::vector<oracle::Port>& ports) {
  oracle::Network network{.ports = ports, .stations = {}, .statics = {}};
  for (std::size_t i = 0; i < ports.size(); ++i) {
    network.ports[i].mac = address(0x02AA00000000U + i);
    network.ports[i].mtu = kMtus[i];
  }
  return network;
}

std::set<unsigned> range(unsigned first, unsigned last) {
  std::set<unsigned> numbers;
  for (unsigned i = first; i <= last; ++i) numbers.insert(i);
  return numbers;
}

oracle::Network vlans_network() {
  std::set<unsigned> p2 = range(20, 29);
  p2.insert(10);
  auto network = network_of({{.native = 10, .vlans = {10}},
                             {.native = 20, .vlans = {20}},
                             {.native = 20, .vlans = p2},
                             {.native = 0, .vlans = {10, 30}},
                             {.native = 10, .vlans = {10, 20, 30, 31}},
                             {}});
  network.most = 40;
  network.statics = {{{10, address(0x020000000005)}, 0}, {{20, address(0x020000000006)}, 4}};
  return network;
}

class SwitchTest : public testing::TestWithParam<std::string> {};

Bytes random_frame(Random& random) {
  const auto station = [&random] { return std::uint64_t{0x020000000000} + random.below(12); };
  std::uint64_t to = station(), from = station();
  switch (random.below(12)) {
    case 0:
      to = kBroadcast;
      break;
    case 1:
      to = 0x01005E000001;
      break;
    case 2:
      to = 0x0180C2000000 + random.below(18);
      break;
    case 3:
      to = 0x02AA00000000 + random.below(kPorts);
      break;
    default:
      break;
  }
  if (random.below(40) == 0) from = random.below(2) == 0 ? 0 : 0x01005E000002;
  std::optional<std::uint16_t> tag;
  if (random.below(2) == 0) {
    constexpr std::array<std::uint16_t, 10> kVlanNumbers{0, 1, 10, 20, 10, 20, 25, 30, 31, 4095};
    tag = static_cast<std::uint16_t>(random.below(16) << 12 | kVlanNumbers[random.below(kVlanNumbers.size())]);
  }
  const std::size_t payload = random.below(10) == 0 ? 800 + random.below(800) : random.below(100);
  Bytes bytes = frame(to, from, tag, payload, random.below(8) == 0 ? 0x88A8 : 0x0800);
  if (random.below(30) == 0) bytes.resize(random.below(20));
  return bytes;
}

void compare(Bench& bench, oracle::Network& network, Random& random, std::map<std::string, int>& seen) {
  for (std::size_t i = 0; i < 6000 / kSanitizerScale; ++i) {
    const auto port = static_cast<std::uint16_t>(random.below(kPorts));
    const Bytes bytes = random_frame(random);
    const Judgement found = bench.process(port, bytes);
    ASSERT_EQ(found, network.take(port, bytes)) << "port " << port << testing::PrintToString(bytes) << bench.trace();
    bench.wait_for(network);
    if (testing::Test::HasFatalFailure()) return;
    ++seen[found.reason.empty() ? std::to_string(found.sent.size()) : found.reason];
    if (found.too_long > 0) ++seen["some too_long"];
  }
}

TEST_P(SwitchTest, DoesAsTheOracleWithVlans) {
  Bench bench(GetParam(), kVlans);
  oracle::Network network = vlans_network();
  Random random(1);
  std::map<std::string, int> seen;
  compare(bench, network, random, seen);
  for (const char* each : {"1", "2", "3", "bad_source", "reserved_group", "untagged", "vlan_not_allowed", "local",
                           "static_moved", "same_port", "no_egress", "too_long", "some too_long"}) {
    EXPECT_TRUE(seen.contains(each) || kSanitizerScale > 1) << each;
  }
  const auto learning = bench.function().show("learning", {});
  EXPECT_GT(learning["moved"], 0);
  EXPECT_GT(learning["not_learned"], 0);  // more stations than max_stations
  EXPECT_EQ(learning["stations"], 40);
}

/// `- l2: {}` configures a plain switch.
TEST_P(SwitchTest, DoesAsTheOracleWithoutConfiguration) {
  Bench bench(GetParam(), "{}");
  oracle::Network network = network_of(std::vector<oracle::Port>(kPorts));
  Random random(2);
  std::map<std::string, int> seen;
  compare(bench, network, random, seen);
  EXPECT_TRUE(seen.contains("5") && seen.contains("1") && seen.contains("some too_long"));
}

TEST_P(SwitchTest, ForwardsAChunkOfAnySizeToStationsThatItKnows) {
  Bench bench(GetParam(), kVlans);
  oracle::Network network = vlans_network();
  for (std::uint16_t port = 0; port < 5; ++port) {
    for (const std::uint16_t vlan : {0, 10, 20, 30}) {
      const Bytes hello = frame(kBroadcast, 0x020000000100U + port, vlan);
      bench.process(port, hello);
      network.take(port, hello);
    }
  }
  bench.wait_for(network);
  Random random(3);
  for (std::uint16_t size = 1; size <= Chunk::kCapacity; ++size) {
    const auto port = static_cast<std::uint16_t>(random.below(5));
    std::vector<Bytes> frames;
    for (std::uint16_t i = 0; i < size; ++i) {
      constexpr std::array<std::uint16_t, 4> kTags{0, 10, 20, 30};
      frames.push_back(frame(0x020000000100U + random.below(5), 0x020000000100U + port,
                             random.below(3) == 0 ? std::optional<std::uint16_t>{} : kTags[random.below(4)]));
    }
    const auto found = bench.process(port, frames);
    for (std::size_t i = 0; i < frames.size(); ++i) ASSERT_EQ(found[i], network.take(port, frames[i]));
  }
}

PENUMBRA_FOR_EACH_ENGINE(SwitchTest);

TEST(Switch, KeepsAnotherTagAsPayload) {
  Bench bench("scalar", "{}");
  const Bytes provider = frame(kBroadcast, 0x020000000001, {}, 100, 0x88A8);
  const Judgement found = bench.process(0, provider);
  ASSERT_EQ(found.sent.size(), 5U);
  EXPECT_EQ(found.sent.at(1), provider);
}

TEST(Switch, LeavesFramesToThePortToAFunctionBehindThatTakesThem) {
  Bench bench("scalar", "{}", {0x0800});
  EXPECT_EQ(bench.process(0, frame(0x02AA00000000, 2, {}, 46, 0x0800)).reason, "pass");
  EXPECT_EQ(bench.process(0, frame(0x02AA00000000, 2, {}, 46, 0x0806)).reason, "local");
  EXPECT_EQ(bench.process(1, frame(0x02AA00000000, 2, {}, 46, 0x0800)).sent.size(), 5U) << "another port's address";
}

TEST(Switch, TracesWhoWasFound) {
  Bench bench("scalar", kVlans);
  bench.process(2, frame(0x020000000005, 0x020000000044, 10));
  EXPECT_EQ(bench.trace(), "02:00:00:00:00:44 > 02:00:00:00:00:05 VLAN 10, source unknown, destination p0");
  bench.process(3, frame(0x020000000005, 0x020000000044));
  EXPECT_EQ(bench.trace(), "02:00:00:00:00:44 > 02:00:00:00:00:05: untagged");
}

/// The rate limiter's bucket holds 64 packets and gets one packet per second.
TEST(Switch, LimitsEachKindOfStorm) {
  Bench bench("scalar",
              "ports: {p0: {storm_control: {broadcast: 1, multicast: 1, unknown_unicast: 1}}, "
              "p1: {storm_control: {broadcast: 1}}}");
  const auto began = std::chrono::steady_clock::now();
  const auto passed = [&](std::uint16_t port, std::uint64_t to, const std::string& reason) {
    std::size_t count = 0;
    for (int i = 0; i < 300; ++i) {
      const Judgement found = bench.process(port, frame(to, 0x020000000001U + port));
      if (found.reason.empty()) {
        ++count;
      } else {
        EXPECT_EQ(found.reason, reason);
      }
    }
    return count;
  };
  const std::vector<std::size_t> counts{
      passed(0, kBroadcast, "broadcast_storm"), passed(0, 0x01005E000001, "multicast_storm"),
      passed(0, 0x020000000099, "unknown_unicast_storm"), passed(1, kBroadcast, "broadcast_storm")};
  EXPECT_EQ(passed(1, 0x01005E000001, ""), 300U) << "no limit";
  EXPECT_EQ(passed(2, kBroadcast, ""), 300U) << "another port";
  const auto lasted = std::chrono::steady_clock::now() - began;
  for (const std::size_t count : counts) {
    EXPECT_GE(count, 64U);
    EXPECT_LE(count, 65U + static_cast<std::size_t>(std::chrono::ceil<std::chrono::seconds>(lasted).count()));
  }
}

TEST(Switch, ForgetsWhoIsSilentAndKeepsWhoIsNot) {
  Bench bench("scalar", "{ageing: 1, static: [{mac: \"02:00:00:00:00:09\", port: p3}]}");
  Switch& function = bench.function();
  const auto began = std::chrono::steady_clock::now();
  bench.process(1, frame(kBroadcast, 0x020000000001));
  const Bytes lively = frame(0x020000000001, 0x020000000002);
  Bench::wait_until([&] {
    bench.process(2, lively);
    return function.stations().size() == 3;
  });
  Bench::wait_until([&] {
    bench.process(2, lively);
    return function.stations().size() == 2;
  });
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  const auto rows = function.show("stations", {})["stations"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].dump(), R"({"vlan":1,"mac":"02:00:00:00:00:02","port":"p2","type":"learned","age":0})");
  EXPECT_EQ(rows[1].dump(), R"({"vlan":1,"mac":"02:00:00:00:00:09","port":"p3","type":"static","age":null})");
  EXPECT_EQ(function.show("learning", {})["aged"], 1);
  EXPECT_EQ(bench.process(2, lively).sent.size(), 5U);
}

TEST(Switch, ForgetsWhoWasLearnedOnAPortWhoseLinkGoesDown) {
  Bench bench("scalar", "{ageing: 0, static: [{mac: \"02:00:00:00:00:09\", port: p3}]}");
  Switch& function = bench.function();
  for (std::uint64_t i = 1; i <= 8; ++i) bench.process(3, frame(kBroadcast, 0x020000000010 + i));
  bench.process(2, frame(kBroadcast, 0x020000000002));
  bench.process(4, frame(kBroadcast, 0x020000000004));
  Bench::wait_until([&] { return function.stations().size() == 11; });
  EXPECT_EQ(bench.process(0, frame(0x020000000011, 0x020000000002)).sent.size(), 1U);
  Bench::wait_until([&] { return function.show("learning", {})["moved"] == 1; });
  function.link_down(3);
  function.link_down(0);
  Bench::wait_until([&] { return function.stations().size() == 2; });
  const auto learning = function.show("learning", {});
  EXPECT_EQ(learning["flushed"], 9);
  for (const FunctionMetric& metric : function.metrics()) {
    constexpr std::string_view kFrames = "_frames";
    std::string key = metric.labels.empty() ? metric.name.substr(3) : metric.labels[0].second;
    if (key.ends_with(kFrames)) key.resize(key.size() - kFrames.size());
    EXPECT_EQ(learning[key], metric.value) << key;
  }
  EXPECT_EQ(bench.process(1, frame(0x020000000011, 0x020000000004)).sent.size(), 5U) << "flooded again";
  EXPECT_EQ(bench.process(1, frame(0x020000000009, 0x020000000004)).sent.count(3), 1U) << "static ones stay";
  bench.process(5, frame(kBroadcast, 0x020000000011));
  Bench::wait_until([&] { return function.stations().size() == 3; });
  EXPECT_EQ(bench.process(1, frame(0x020000000011, 0x020000000004)).sent.count(5), 1U);
}

TEST(Switch, TakesNoMoreStationsThanItMayAndMakesRoomAgain) {
  Bench bench("scalar", "{ageing: 1, max_stations: 50}");
  Switch& function = bench.function();
  for (std::uint64_t i = 0; i < 500; ++i) bench.process(1, frame(kBroadcast, 0x020000001000 + i));
  Bench::wait_until([&] { return function.stations().size() == 50; });
  EXPECT_EQ(bench.process(0, frame(0x020000001000 + 499, 0x020000001000)).sent.size(), 5U) << "not learned: flooded";
  Bench::wait_until([&] { return function.show("learning", {})["not_learned"] >= 450; });
  Bench::wait_until([&] { return function.stations().size() == 0; });
  bench.process(2, frame(kBroadcast, 0x020000002000));
  Bench::wait_until([&] { return function.stations().size() == 1; });
}

TEST(Switch, TakesOverAnotherConfigurationAndGivesItBack) {
  Bench bench("scalar", kVlans);
  Switch& function = bench.function();
  const auto ports = some_ports();
  NoReaders no_readers;
  const std::string text = R"({ports: {p0: {access: 20}, p1: {access: 20}, p2: {trunk: {vlans: [20-29], native: 20},
      storm_control: {broadcast: 100}}}, static: [{mac: "02:00:00:00:00:05", vlan: 20, port: p0}], ageing: 10})";
  Switch next(read_configuration(parse(text), ports), {.ports = ports, .grace_periods = no_readers});
  EXPECT_TRUE(function.differences(function, parse("{}")).empty());
  EXPECT_THAT(
      function.differences(next, parse(text)),
      ElementsAre("port p0: access VLAN 20, was access VLAN 10",
                  "port p2: trunk of VLANs 20-29, native 20, broadcast 100/s, was trunk of VLANs 10, 20-29, native 20",
                  "port p3: access VLAN 1, was trunk of VLANs 10, 30",
                  "port p4: access VLAN 1, was trunk of VLANs 10, 20, 30-31, native 10", "ageing: 10 s, was 0 s",
                  "max_stations: 65536, was 40", "static stations: 1 added, 2 removed"));
  bench.process(2, frame(kBroadcast, 0x020000000042, 10));
  bench.process(2, frame(kBroadcast, 0x020000000043));
  Bench::wait_until([&] { return function.stations().size() == 4; });
  function.exchange(next);
  const auto rows = function.show("stations", {})["stations"];
  ASSERT_EQ(rows.size(), 2U) << rows;
  EXPECT_EQ(rows[0]["mac"], "02:00:00:00:00:05");
  EXPECT_EQ(rows[0]["vlan"], 20);
  EXPECT_EQ(rows[1]["mac"], "02:00:00:00:00:43");
  EXPECT_EQ(function.show("learning", {})["removed"], 1);
  EXPECT_EQ(bench.process(0, frame(0x020000000043, 0x020000000044)).sent.count(2), 1U);
  EXPECT_EQ(bench.process(2, frame(kBroadcast, 0x020000000042, 10)).reason, "vlan_not_allowed");
  function.exchange(next);
  EXPECT_EQ(bench.process(0, frame(kBroadcast, 0x020000000005)).sent.size(), 3U) << "in VLAN 10 again";
  EXPECT_EQ(bench.process(1, frame(kBroadcast, 0x020000000006)).reason, "static_moved");
}

TEST(Switch, ShowsWhatItIsAsked) {
  Bench bench("scalar", kVlans);
  const Switch& function = bench.function();
  const auto vlans = function.show("vlans", {});
  ASSERT_EQ(vlans.size(), 14U);  // VLANs 1, 10, 20 to 29, 30, 31
  EXPECT_EQ(vlans[1].dump(), R"({"vlan":10,"untagged":["p0","p4"],"tagged":["p2","p3"],"stations":1})");
  const auto rows = [&](const std::string& what) {
    return function.show("stations", std::vector{what})["stations"].size();
  };
  EXPECT_EQ(rows("p0"), 1U);
  EXPECT_EQ(rows("20"), 1U);
  EXPECT_EQ(rows("02:00:00:00:00:05"), 1U);
  EXPECT_EQ(rows("02:00:00:00:00:07"), 0U);
  EXPECT_THROW(rows("p9"), std::invalid_argument);
  EXPECT_THROW(function.show("vlans", std::vector<std::string>{"1"}), std::invalid_argument);
}

TEST(Switch, ShowsNoMoreStationsThanItIsAsked) {
  Bench bench("scalar", "{ageing: 0, max_stations: 10000, ports: {p1: {access: 2}}}");
  constexpr std::size_t kEach = 600;
  for (std::size_t i = 0; i < kEach; ++i) {
    for (const std::uint16_t port : {0, 1, 2}) {
      bench.process(port, frame(kBroadcast, 0x020000000000U + i * 7919 % kEach + port * std::uint64_t{0x10000}));
    }
  }
  const Switch& function = bench.function();
  Bench::wait_until([&] { return bench.function().stations().size() == 3 * kEach; });
  const auto show = [&](const std::vector<std::string>& words) { return function.show("stations", words); };
  const auto usual = show({});
  EXPECT_EQ(usual["stations"].size(), 1000U);
  EXPECT_EQ(usual["total"], 3 * kEach);
  EXPECT_EQ(usual["truncated"], true);
  EXPECT_EQ(usual["note"], "1000 of 1800; 'show stations all' shows every one");
  const auto all = show({"all"});
  ASSERT_EQ(all["stations"].size(), 3 * kEach);
  EXPECT_EQ(all["truncated"], false);
  const auto in_order = [](const auto& one, const auto& other) {
    return std::pair(one["vlan"], one["mac"]) < std::pair(other["vlan"], other["mac"]);
  };
  EXPECT_TRUE(std::is_sorted(all["stations"].begin(), all["stations"].end(), in_order));
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(usual["stations"][i], all["stations"][i]);
  EXPECT_EQ(show({"p0", "--limit", "10"})["total"], kEach);
  EXPECT_EQ(show({"p0", "--limit", "10"})["stations"].size(), 10U);
  EXPECT_EQ(show({"p0", "1", "02:00:00:00:00:05"})["total"], 1);
  EXPECT_EQ(show({"p0", "2"})["total"], 0) << "all must hold";
  EXPECT_EQ(show({"1"})["total"], 2 * kEach);
  EXPECT_EQ(show({"--limit", "0"})["stations"].size(), 0U);
  EXPECT_EQ(show({"--limit", "0"})["total"], 3 * kEach);
}

}  // namespace
}  // namespace penumbra::l2
