// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/scratch_folder.h"
#include "functions/ids/detect/eve.h"
#include "functions/ids/detect/testing.h"
#include "functions/ids/rules/testing.h"
#include "packet/parse.h"

namespace penumbra::ids {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
class Session {
 public:
  explicit Session(const std::string& rules, Needs most = Needs::packet) {
    HeaderSets sets(Variables::defaults());
    RuleSet set;
    set.read(rules, "test.rules", sets);
    EXPECT_TRUE(set.refused().empty()) << (set.refused().empty() ? "" : set.refused()[0].text());
    rules_.emplace(std::move(set), most);
  }

  /// Returns the sids of the alerts for a packet.
  std::vector<std::uint32_t> send(const Packet& packet, std::uint64_t now = 1) {
    const Bytes frame = packet.frame();
    const PacketHeaders headers = parse_headers(frame.data(), frame.size(), frame.size());
    const PacketView view(frame, headers);
    EXPECT_TRUE(view.is_readable());
    std::vector<Detector::Alert> alerts;
    detector_.inspect(rules_.value(), view, now, alerts);
    std::vector<std::uint32_t> sids;
    for (const Detector::Alert& alert : alerts) {
      sids.push_back(alert.rule->rule->sid);
      Event event = make_event(alert, view, rules_.value(), now);
      event.number = 5;
      last_event_ = to_json(event);
    }
    return sids;
  }
  const std::string& last_event() const { return last_event_; }
  const CompiledRules& rules() const { return rules_.value(); }
  Detector& detector() { return detector_; }

 private:
  std::optional<CompiledRules> rules_;
  Detector detector_;
  std::string last_event_;
};

/// Returns true if the only rule alerts on the packet.
bool alerts(const std::string& rule, const Packet& packet) {
  Session run(rule + "\n");
  return !run.send(packet).empty();
}
bool holds(const std::string& options, const Packet& packet) {
  return alerts(rule_text(options), packet);
}

TEST(Detector, ComparesTheHeader) {
  const Packet udp;
  EXPECT_TRUE(alerts("alert udp 10.0.0.1 1000 -> 10.0.0.2 53 (sid:1;)", udp));
  EXPECT_FALSE(alerts("alert udp 10.0.0.2 any -> any any (sid:1;)", udp));
  EXPECT_FALSE(alerts("alert udp any any -> any 1000 (sid:1;)", udp));
  EXPECT_TRUE(alerts("alert udp any any <> any 1000 (sid:1;)", udp));
  EXPECT_FALSE(alerts("alert tcp any any -> any any (sid:1;)", udp));
  EXPECT_FALSE(alerts("alert ipv6 any any -> any any (sid:1;)", udp));
  EXPECT_TRUE(alerts("alert ipv4 any any -> any any (sid:1;)", udp));
  const Packet icmp{.protocol = ip_protocol::kIcmp};
  EXPECT_TRUE(alerts("alert icmp any any -> any any (sid:1;)", icmp));
  EXPECT_FALSE(alerts("alert ip any 1: -> any any (ttl:>0; sid:1;)", icmp));  // ICMP has no ports
}

TEST(Detector, ComparesTheFieldsOfHeaders) {
  const Packet udp{.payload = "abc"};
  EXPECT_TRUE(holds("dsize:3; ttl:64; tos:4; id:9; ip_proto:udp; fragbits:D; fragoffset:0;", udp));
  for (const char* const wrong : {"dsize:4;", "ttl:<64;", "tos:5;", "id:8;", "ip_proto:!17;", "fragbits:M;", "sameip;",
                                  "fragoffset:>0;", "ipopts:any;"}) {
    EXPECT_FALSE(holds(wrong, udp)) << wrong;
  }
  EXPECT_TRUE(holds("sameip;", {.source = 3, .destination = 3}));
  const Packet icmp{.protocol = ip_protocol::kIcmp, .payload = "ab"};
  EXPECT_TRUE(holds("itype:8; icode:0; icmp_id:4660; icmp_seq:7; dsize:2;", icmp));
  EXPECT_FALSE(holds("icmp_seq:8;", icmp));
  const Packet tcp{.protocol = ip_protocol::kTcp, .tcp_flags = 0x52};
  EXPECT_TRUE(holds("seq:1; ack:2; window:4096; flags:SAE;", tcp));
  EXPECT_TRUE(holds("flags:SA,CE;", tcp));
  EXPECT_TRUE(holds("flags:+S;", tcp));
  EXPECT_TRUE(holds("flags:*SF;", tcp));
  EXPECT_TRUE(holds("flags:!SF;", tcp));
  EXPECT_FALSE(holds("flags:SA;", tcp));
  EXPECT_FALSE(holds("flags:!S;", tcp));
  const Packet routed{.ip_options = std::string("\x01\x83\x03\x04", 4)};
  EXPECT_TRUE(holds("ipopts:lsrr;", routed));
  EXPECT_TRUE(holds("ipopts:nop;", routed));
  EXPECT_FALSE(holds("ipopts:ssrr;", routed));
}

TEST(Detector, FollowsFlowsAndTheirBits) {
  Session run(
      "alert tcp any any -> any any (flow:established,to_server; flags:A; sid:1;)\n"
      "alert tcp any any -> any any (flow:to_client; flags:SA; flowbits:set,answered; noalert; sid:2;)\n"
      "alert tcp any any -> any any (flowbits:isset,answered; flags:A; sid:3;)\n"
      "alert tcp any any -> any any (flow:not_established; flags:S; sid:4;)\n");
  const Packet syn{.protocol = ip_protocol::kTcp, .tcp_flags = 0x02};
  const Packet syn_ack{.source = 2,
                       .destination = 1,
                       .protocol = ip_protocol::kTcp,
                       .tcp_flags = 0x12,
                       .source_port = 53,
                       .destination_port = 1000};
  const Packet ack{.protocol = ip_protocol::kTcp};
  EXPECT_THAT(run.send(ack), IsEmpty());
  EXPECT_THAT(run.send(syn), ElementsAre(4));
  EXPECT_THAT(run.send(syn_ack), IsEmpty());
  EXPECT_THAT(run.send(ack), ElementsAre(3, 1));  // a rule that tests flowbits precedes one without
}

TEST(Detector, PassesBeforeItAlerts) {
  Session run(
      "alert udp any any -> any any (sid:1;)\npass udp any any -> any 53 (content:\"ok\"; sid:2;)\n"
      "drop udp any any -> any any (sid:3;)\n");
  EXPECT_THAT(run.send({.payload = "ok"}), IsEmpty());
  EXPECT_THAT(run.send({.payload = "no"}), ElementsAre(3, 1));
}

TEST(Detector, SeesRulesOfAddressesOnceForEachDirection) {
  Session run("alert ip 10.0.0.0/8 any -> any any (sid:1;)\n");
  EXPECT_THAT(run.send({}), ElementsAre(1));
  EXPECT_THAT(run.send({}), IsEmpty());
  EXPECT_THAT(run.send({.source = 2, .destination = 1, .source_port = 53, .destination_port = 1000}), ElementsAre(1));
}

TEST(Detector, AppliesThresholds) {
  Session run("alert udp any any -> any any (threshold:type limit, track by_src, count 1, seconds 10; sid:1;)\n");
  EXPECT_THAT(run.send({}, 1), ElementsAre(1));
  EXPECT_THAT(run.send({}, 2), IsEmpty());
  EXPECT_THAT(run.send({.source = 9}, 2), ElementsAre(1));
  EXPECT_THAT(run.send({}, 11000000), ElementsAre(1));
}

TEST(Detector, KeepsBitsOfAddressesAcrossFlows) {
  Session run(
      "alert udp any any -> any any (content:\"set\"; xbits:set,a,track ip_src,expire 10; noalert; sid:1;)\n"
      "alert udp any any -> any any (content:\"get\"; xbits:isset,a,track ip_dst; flowbits:isnotset,a; sid:2;)\n"
      "alert udp any any -> any any (content:\"get\"; xbits:isset,a,track ip_pair; sid:3;)\n");
  constexpr std::uint64_t kSecond = 1000000;
  const Packet get{.source = 7, .destination = 1, .source_port = 5, .payload = "get"};
  EXPECT_THAT(run.send(get, kSecond), IsEmpty());
  EXPECT_THAT(run.send({.payload = "set"}, kSecond), IsEmpty());
  EXPECT_THAT(run.send(get, 11 * kSecond), ElementsAre(2));
  EXPECT_THAT(run.send(get, 12 * kSecond), IsEmpty());
}

TEST(Detector, KeepsBitsOfHosts) {
  Session run(
      "alert udp any any -> any any (content:\"set\"; hostbits:set,a; noalert; sid:1;)\n"
      "alert udp any any -> any any (content:\"get\"; hostbits:isset,a,dst; sid:2;)\n"
      "alert udp any any -> any any (content:\"get\"; hostbits:isset,a,src; sid:3;)\n"
      "alert udp any any -> any any (content:\"get\"; xbits:isset,a,track ip_dst; sid:4;)\n");
  constexpr std::uint64_t kSecond = 1000000;
  const Packet get{.source = 7, .destination = 1, .source_port = 5, .payload = "get"};
  EXPECT_THAT(run.send(get, kSecond), IsEmpty());
  EXPECT_THAT(run.send({.payload = "set"}, kSecond), IsEmpty());
  EXPECT_THAT(run.send(get, 100000 * kSecond), ElementsAre(2));
  EXPECT_THAT(run.send({.source_port = 6, .payload = "get"}, 100000 * kSecond), ElementsAre(3));
}

/// Returns the actions of the decisions about packets that match the only rule, one each second.
std::string actions(const std::string& action, const std::string& new_action) {
  const ScratchFolder folder;
  std::ofstream(folder.path() / "a.rules") << action << " udp any any -> any any (sid:1;)\n";
  std::ofstream(folder.path() / "threshold.config")
      << "rate_filter gen_id 1, sig_id 1, track by_src, count 2, seconds 10, new_action " << new_action
      << ", timeout 2\n";
  RuleSetOptions options;
  options.rules = {folder.path()};
  const CompiledRules rules(RuleSet::load(options));
  Detector detector;
  const Bytes frame = Packet{}.frame();
  const PacketView view(frame, parse_headers(frame.data(), frame.size(), frame.size()));
  std::string found;
  for (std::uint64_t second = 1; second <= 6; ++second) {
    std::vector<Detector::Alert> alerts;
    const Detector::Decision decision = detector.inspect(rules, view, second * 1000000, alerts);
    const auto letter = [](Action each) {
      return each == Action::drop ? 'd' : each == Action::reject ? 'r' : each == Action::pass ? 'p' : 'a';
    };
    found += decision.rule == nullptr ? '-' : letter(decision.action);
    found += alerts.empty() ? '.' : letter(alerts[0].action);
  }
  return found;
}

TEST(Detector, ChangesActionsByRateFilters) {
  EXPECT_EQ(actions("alert", "drop"), "-a-adddddd-a");
  EXPECT_EQ(actions("drop", "alert"), "dddd-a-a-add");
  EXPECT_EQ(actions("alert", "reject"), "-a-arrrrrr-a");
  EXPECT_EQ(actions("alert", "pass"), "-a-ap.p.p.-a");
}

TEST(Detector, NamesRulesThatAreNotEvaluated) {
  const Session run(
      "alert tcp any any -> any any (content:\"a\"; sid:1;)\nalert dns any any -> any any (sid:2;)\n"
      "alert udp any any -> any any (asn1:double_overflow; sid:3;)\n"
      "alert udp any any -> any any (sid:5;)\n");
  std::vector<std::string> reasons;
  for (const auto& skipped : run.rules().not_evaluated()) reasons.push_back(skipped.reason);
  EXPECT_THAT(reasons, testing::UnorderedElementsAre("needs streams", "needs the protocol of an application",
                                                     "asn1 and DCE/RPC are not evaluated"));
  EXPECT_EQ(run.rules().rules().size(), 1U);
}

TEST(Detector, WritesEventsWithTheFieldsOfSuricata) {
  Session run(
      "alert udp any any -> any any (msg:\"a \\\"b\\\"\"; content:\"x\"; priority:2; metadata:k v, k w; sid:7; "
      "rev:3;)\n");
  run.send({.payload = "x"}, 1600000000123456);
  EXPECT_EQ(
      run.last_event(),
      R"({"timestamp":"2020-09-13T12:26:40.123456+0000","flow_id":1,"pcap_cnt":5,"event_type":"alert",)"
      R"("src_ip":"10.0.0.1","src_port":1000,"dest_ip":"10.0.0.2","dest_port":53,"proto":"UDP","ip_v":4,)"
      R"("pkt_src":"wire/pcap","alert":{"action":"allowed","gid":1,"signature_id":7,"rev":3,"signature":"a \"b\"",)"
      R"("category":"","severity":2,"metadata":{"k":["v","w"]}},"direction":"to_server"})");
}

/// Rules of one content each, which may have any length, against a plain search.
TEST(Detector, FindsTheContentsThatASearchFinds) {
  std::mt19937 random(5);
  const auto text = [&random](std::size_t most) {
    std::string made(random() % most + 1, ' ');
    for (char& letter : made) letter = "abAB"[random() % 4];
    return made;
  };
  for (int round = 0; round < 100; ++round) {
    std::string rules;
    std::vector<std::string> contents;
    for (unsigned i = random() % 12 + 1; i > 0; --i) {
      contents.push_back(text(6));
      rules += "alert udp any any -> any any (content:\"" + contents.back() +
               "\"; sid:" + std::to_string(contents.size()) + ";)\n";
    }
    Session run(rules);
    const std::string payload = text(60);
    std::vector<std::uint32_t> right;
    for (std::uint32_t i = 0; i < contents.size(); ++i) {
      if (payload.find(contents[i]) != std::string::npos) right.push_back(i + 1);
    }
    ASSERT_EQ(run.send({.payload = payload}), right) << payload;
  }
}

/// Contents in more sets than the shader lists for a packet.
TEST(Detector, FindsMoreContentsThanTheShaderLists) {
  std::string rules, payload;
  std::vector<std::uint32_t> right;
  for (std::uint32_t i = 0; i < 10; ++i) {
    const std::string content(4, static_cast<char>('a' + i));
    payload += content;
    right.push_back(i + 1);
    rules += "alert udp any any -> any any (content:\"" + content + "\"; sid:" + std::to_string(i + 1) + ";)\n";
  }
  Session run(rules);
  EXPECT_EQ(run.send({.payload = payload}), right);
}

TEST(Detector, LeavesShortContentsOutOfThePatterns) {
  const Session run(
      "alert udp any any -> any any (content:\"ab\"; sid:1;)\nalert udp any any -> any any (content:\"abc\"; sid:2;)\n"
      "alert tcp-pkt any any -> any any (content:\"ABC\"; nocase; sid:3;)\n");
  EXPECT_EQ(run.rules().packet_group().size(), 1U);
  EXPECT_EQ(run.rules().always(Needs::packet, ip_protocol::kUdp).size(), 1U);
  EXPECT_EQ(run.rules().always(Needs::packet, ip_protocol::kTcp).size(), 0U);
}

/// A parser of an application fills buffers, and the rules on them are evaluated.
TEST(Detector, InspectsBuffersOfAnApplication) {
  Session run(
      "alert dns any any -> any any (dns.query; content:\"evil\"; sid:1;)\n"
      "alert dns any any -> any any (dns.query; content:\"x\"; sid:2;)\nalert udp any any -> any any (sid:3;)\n",
      Needs::application);
  const Bytes frame = Packet{}.frame();
  const PacketView view(frame, parse_headers(frame.data(), frame.size(), frame.size()));
  const auto sids = [&](const std::string& query) {
    BufferTable buffers;
    buffers.set(Buffer::dns_query, {reinterpret_cast<const std::uint8_t*>(query.data()), query.size()});
    std::vector<Detector::Alert> alerts;
    run.detector().inspect(run.rules(),
                           {.packet = view,
                            .buffers = buffers,
                            .flow = run.detector().track(view, 1),
                            .now = 1,
                            .needs = Needs::application},
                           alerts);
    std::vector<std::uint32_t> found;
    found.reserve(alerts.size());
    for (const Detector::Alert& alert : alerts) found.push_back(alert.rule->rule->sid);
    return found;
  };
  EXPECT_THAT(sids("evil.example"), ElementsAre(1, 2));
  EXPECT_THAT(sids("box.example"), ElementsAre(2));
  EXPECT_THAT(sids("good.eample"), IsEmpty());
}

TEST(Detector, BoundsTheAlertsOfAPacket) {
  std::string rules;
  for (int i = 1; i <= 20; ++i) rules += "alert udp any any -> any any (sid:" + std::to_string(i) + ";)\n";
  Session run(rules);
  EXPECT_EQ(run.send({}).size(), Detector::kMostAlerts);
  EXPECT_EQ(run.detector().counters().alerts_over_limit, 5U);
}

}  // namespace
}  // namespace penumbra::ids
