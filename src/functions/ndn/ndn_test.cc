// SPDX-License-Identifier: Apache-2.0
//
// Tests the function between faces: alice and bob over Ethernet, carol over UDP from any port, and the group on lan.
#include "functions/ndn/ndn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "functions/forwarding/testing.h"
#include "functions/ndn/lp_header.h"
#include "functions/ndn/pit_token.h"
#include "functions/ndn/testing.h"
#include "testing/function_fixture.h"
#include "testing/message_of.h"

namespace penumbra::ndn {
namespace {

using function_testing::reason_of;
using testing_support::data;
using testing_support::hop_limit;
using testing_support::interest;
using testing_support::kAlice;
using testing_support::kBob;
using testing_support::kCarol;
using testing_support::kNackForNoRoute;
using testing_support::kNonce;
using testing_support::lp;
using testing_support::text_of;
using testing_support::tlv;
using testing_support::token;

constexpr std::size_t kHeadroom = 128;
constexpr std::uint16_t kWan = 0, kLan = 1, kDmz = 2;
const std::string kFaces = R"(
faces:
  - {name: alice, port: wan, remote: "ether://[02:00:00:00:00:aa]"}
  - {name: bob, port: lan, remote: "ether://[02:00:00:00:00:bb]"}
  - {name: all, port: lan, remote: "ether://[01:00:5e:00:17:aa]"}
  - {name: carol, port: dmz, remote: "udp4://192.0.2.7", local: "udp4://192.0.2.1", mac: "02:00:00:00:00:cc"}
)";
const std::string kRoutes = "/a alice\n/a/b bob\n/c carol\n/all all\n/very/long/name/of/many/components carol\n";

std::string mac_text(MacAddress mac) {
  std::string bytes;
  for (int i = 40; i >= 0; i -= 8) bytes += static_cast<char>(mac.value >> i);
  return bytes;
}
std::string ethernet(MacAddress to, MacAddress from, const std::string& packet) {
  return mac_text(to) + mac_text(from) + "\x86\x24" + packet;
}

class Ndn : public function_testing::FunctionTest {
 protected:
  Ndn() : FunctionTest("ndn", forwarding::testing_support::ports_without_addresses(1280)) { create(); }

  std::unique_ptr<Function> make(const std::string& routes, const std::string& faces = kFaces) {
    write("names.txt", routes);
    return FunctionTest::make(faces + "routes: names.txt\n");
  }
  void create() {
    write("names.txt", kRoutes);
    FunctionTest::create(kFaces + "routes: names.txt\n");
  }

  Verdict process(const std::string& frame, std::uint16_t port, std::size_t headroom = kHeadroom) {
    return send({frame.begin(), frame.end()}, port, headroom);
  }
  std::string reason(const std::string& frame, std::uint16_t port) {
    return reason_of(*function_, process(frame, port));
  }
  Verdict from_alice(const std::string& packet) { return process(ethernet(ports_[kWan].mac, kAlice, packet), kWan); }
  Verdict from_bob(const std::string& packet) { return process(ethernet(ports_[kLan].mac, kBob, packet), kLan); }
  std::string reason_from_alice(const std::string& packet) { return reason_of(*function_, from_alice(packet)); }

  /// Returns a datagram of carol from a UDP port.
  std::string from_carol(const std::string& packet, std::uint16_t udp_port) const {
    Transport transport({{"carol's", kDmz, FaceUri::parse("udp4://192.0.2.1:6363").value(),
                          FaceUri::parse("udp4://192.0.2.7:" + std::to_string(udp_port)).value(), ports_[kDmz].mac}});
    transport.bind(ports_);
    std::string frame(transport.header_bytes(0), '\0');
    frame += packet;
    transport.write_header(0, 0, reinterpret_cast<std::uint8_t*>(frame.data()), packet.size());
    return frame;
  }

  /// Returns the frame that the function left.
  std::string out() const { return {out_.begin(), out_.end()}; }
  /// Returns the sent packet without its link header.
  NdnPacket sent(std::size_t link_bytes = 14) {
    NdnPacket packet;
    EXPECT_EQ(parse_packet(Bytes(out_).subspan(link_bytes), false, packet), PacketFault::none);
    return packet;
  }
};

TEST_F(Ndn, BringsAnInterestThereAndDataBack) {
  const std::string asks = interest("/a/b/c", kNonce + hop_limit(9));
  ASSERT_EQ(from_alice(asks), Verdict::send(kLan));
  EXPECT_EQ(out().substr(0, 14), ethernet(kBob, ports_[kLan].mac, ""));
  const NdnPacket there = sent();
  EXPECT_EQ(there.kind, PacketKind::interest);
  EXPECT_EQ(text_of(there.network), interest("/a/b/c", kNonce + hop_limit(8)));
  EXPECT_EQ(there.token.size(), PitToken::kOwnBytes);
  EXPECT_THAT(trace_, testing::HasSubstr("Interest /a/b/c by alice, 2 components known: "));

  const std::string answer = data("/a/b/c/%01");
  const std::string given = token(text_of(there.token));
  ASSERT_EQ(from_bob(lp(given, answer)), Verdict::send(kWan));
  EXPECT_EQ(out(), ethernet(kAlice, ports_[kWan].mac, answer)) << "bare, as she asked";
}

TEST_F(Ndn, GivesTheTokenBackThatAnInterestCameWith) {
  const std::string hers(PitToken::kMostInnerBytes, 'h');
  ASSERT_EQ(from_alice(lp(token(hers), interest("/a/b"))), Verdict::send(kLan));
  const std::string given = token(text_of(sent().token));
  ASSERT_EQ(from_bob(lp(given, data("/a/b"))), Verdict::send(kWan));
  EXPECT_EQ(out().substr(14), lp(token(hers), data("/a/b")));
  ASSERT_EQ(from_bob(lp(given + kNackForNoRoute, interest("/a/b"))), Verdict::send(kWan));
  EXPECT_EQ(out().substr(14), lp(token(hers) + kNackForNoRoute, interest("/a/b")));
  EXPECT_EQ(reason_from_alice(lp(token(hers + "h"), interest("/a/b"))), "long_pit_token");
}

TEST_F(Ndn, TakesTokensOnlyFromTheFaceThatHasThem) {
  ASSERT_EQ(from_alice(interest("/a/b")), Verdict::send(kLan));
  const std::string given = text_of(sent().token);
  EXPECT_EQ(reason_from_alice(lp(token(given), data("/a/b"))), "bad_pit_token");
  EXPECT_EQ(reason_from_alice(lp(token("made up.."), data("/a/b"))), "bad_pit_token");
  EXPECT_EQ(reason_from_alice(data("/a/b")), "no_pit_token");
  EXPECT_EQ(reason_from_alice(lp(kNackForNoRoute, interest("/a/b"))), "no_pit_token");
}

TEST_F(Ndn, NacksWhatHasNoRoute) {
  const std::string asks = interest("/x/y", kNonce + hop_limit(9));
  ASSERT_EQ(from_alice(asks), Verdict::send(kWan));
  EXPECT_EQ(out(), ethernet(kAlice, ports_[kWan].mac, lp(kNackForNoRoute, asks)));
  ASSERT_EQ(from_alice(lp(token("hers"), asks)), Verdict::send(kWan));
  EXPECT_EQ(out(), ethernet(kAlice, ports_[kWan].mac, lp(token("hers") + kNackForNoRoute, asks)));
  ASSERT_EQ(from_alice(interest("/a")), Verdict::send(kWan)) << "back where it came from";
  EXPECT_EQ(sent().kind, PacketKind::nack);
  const std::string to_group = ethernet(kMulticastGroup, kBob, interest("/x"));
  EXPECT_EQ(reason(to_group, kLan), "no_route") << "a group is not nacked";
}

TEST_F(Ndn, AnswersOverUdpToThePortThatAsked) {
  ASSERT_EQ(process(from_carol(interest("/a/b"), 50'123), kDmz), Verdict::send(kLan));
  const std::string given = token(text_of(sent().token));
  ASSERT_EQ(from_bob(lp(given, data("/a/b"))), Verdict::send(kDmz));
  EXPECT_EQ(out().substr(42), data("/a/b"));
  EXPECT_EQ(load_be16(out_.data() + 36), 50'123);
  ASSERT_EQ(process(from_carol(interest("/x"), 50'124), kDmz), Verdict::send(kDmz));
  EXPECT_EQ(load_be16(out_.data() + 36), 50'124);
  EXPECT_EQ(out().substr(42), lp(kNackForNoRoute, interest("/x")));
  ASSERT_EQ(from_alice(interest("/c/1")), Verdict::send(kDmz));
  EXPECT_EQ(load_be16(out_.data() + 36), kUdpPort);
  EXPECT_EQ(text_of(sent(42).network), interest("/c/1"));
}

TEST_F(Ndn, SendsToTheGroupAndTakesFromIt) {
  ASSERT_EQ(from_alice(interest("/all/1")), Verdict::send(kLan));
  EXPECT_EQ(out().substr(0, 14), ethernet(kMulticastGroup, ports_[kLan].mac, ""));
  const std::string given = token(text_of(sent().token));
  ASSERT_EQ(process(ethernet(kMulticastGroup, kCarol, lp(given, data("/all/1"))), kLan), Verdict::send(kWan));
}

TEST_F(Ndn, LeavesPaddingBehind) {
  ASSERT_EQ(from_alice(interest("/a/b") + std::string(40, '\0')), Verdict::send(kLan));
  EXPECT_EQ(text_of(sent().network), interest("/a/b"));
}

TEST_F(Ndn, GivesAnInterestItsNonce) {
  std::string before;
  for (const std::string& behind : {std::string(), hop_limit(9)}) {
    for (const std::size_t more : {0, 200, 235, 240, 245, 300}) {
      const std::string unknown = more == 0 ? "" : tlv(254, std::string(more, 'x'));
      ASSERT_EQ(from_alice(interest("/a/b", behind + unknown)), Verdict::send(kLan)) << more;
      const NdnPacket there = sent();
      const std::string network = text_of(there.network), nonce = network.substr(network.find("\x0A\x04"), 6);
      std::string expected = nonce;
      if (!behind.empty()) expected += hop_limit(8);
      expected += unknown;
      EXPECT_EQ(network, interest("/a/b", expected));
      EXPECT_NE(nonce, before) << "a nonce is not used twice";
      EXPECT_THAT(trace_, testing::HasSubstr("Interest /a/b by alice"));
      before = nonce;
    }
  }
  ASSERT_EQ(from_alice(interest("/x", "")), Verdict::send(kWan));
  EXPECT_EQ(out().substr(14), lp(kNackForNoRoute, interest("/x", ""))) << "a Nack has the Interest as it came";
}

TEST_F(Ndn, DropsWithAReason) {
  const std::string asks = interest("/a/b");
  EXPECT_EQ(reason("0123456789012", kWan), "runt");
  EXPECT_EQ(reason(ethernet(ports_[kWan].mac, kBob, asks), kWan), "unknown_face");
  EXPECT_EQ(reason(ethernet(ports_[kLan].mac, kAlice, asks), kLan), "unknown_face") << "alice is on another port";
  EXPECT_EQ(reason(ethernet({0x01005E000001}, kAlice, asks), kWan), "unknown_face") << "another group";
  EXPECT_EQ(reason_from_alice(""), "malformed");
  EXPECT_EQ(reason_from_alice(asks.substr(0, 8)), "malformed");
  EXPECT_EQ(reason_from_alice(interest("/a/b", kNonce + tlv(0x24, "xyz"))), "malformed");
  EXPECT_EQ(reason_from_alice(lp(tlv(0x52, "\x02") + tlv(0x53, "\x02"), asks)), "malformed");
  EXPECT_EQ(reason_from_alice(tlv(9, "")), "unknown_type");
  EXPECT_EQ(reason_from_alice(lp(tlv(801, ""), asks)), "unknown_lp_field");
  EXPECT_EQ(reason_from_alice(lp(tlv(0x52, std::string(1, '\0')) + tlv(0x53, "\x02"), asks)), "fragmented");
  EXPECT_EQ(reason_from_alice(lp("", "")), "idle");
  EXPECT_EQ(reason_from_alice(interest("/localhost/nfd")), "localhost");
  EXPECT_EQ(reason_from_alice(data("/localhost/nfd")), "localhost");
  EXPECT_EQ(reason_from_alice(interest("/a/b", kNonce + hop_limit(0))), "hop_limit_used_up");
  EXPECT_EQ(reason_from_alice(interest("/a/b", kNonce + hop_limit(1))), "hop_limit_used_up");
  EXPECT_EQ(from_alice(interest("/a/b", kNonce + hop_limit(2))), Verdict::send(kLan));
  std::string datagram = from_carol(asks, 6363);
  datagram[50] = static_cast<char>(datagram[50] ^ 1);
  EXPECT_EQ(reason(datagram, kDmz), "bad_checksum");
  EXPECT_EQ(reason(from_carol(asks + "x", 6363), kDmz), "malformed") << "a datagram has no padding";
}

TEST_F(Ndn, DropsWhatTheLinkOrTheBufferHasNoPlaceFor) {
  constexpr std::size_t kFront = 20 + 8 + 4 + 2 + PitToken::kOwnBytes + 4;  // IPv4, UDP, beginning of the LpPacket
  const auto sized = [](std::size_t bytes) {
    const std::string rest = interest("/c", kNonce + tlv(254, std::string(1000, 'x')));
    return interest("/c", kNonce + tlv(254, std::string(1000 + bytes - rest.size(), 'x')));
  };
  EXPECT_EQ(from_alice(sized(1280 - kFront)), Verdict::send(kDmz));
  EXPECT_EQ(out_.size(), 14 + 1280U);
  EXPECT_EQ(reason_from_alice(sized(1280 - kFront + 1)), "too_long");
  const std::string whole = sized(1280 - kFront);
  const std::string bare = interest("/c", whole.substr(whole.find(kNonce) + kNonce.size()));
  EXPECT_EQ(from_alice(bare), Verdict::send(kDmz));
  EXPECT_EQ(out_.size(), 14 + 1280U) << "with the Nonce that it gets";
  const std::string frame = ethernet(ports_[kWan].mac, kAlice, sized(600));
  EXPECT_EQ(process(frame, kWan, kFront), Verdict::send(kDmz));
  EXPECT_EQ(reason_of(*function_, process(frame, kWan, kFront - 1)), "no_headroom");
  std::vector<function_testing::Packet> pieces;
  pieces.emplace_back(function_testing::Bytes(frame.begin(), frame.end()), kHeadroom);
  pieces[0].mbuf.pkt_len += 100;
  EXPECT_EQ(reason_of(*function_, send(pieces, kWan)[0]), "segmented");
}

TEST_F(Ndn, LeavesToOthersWhatIsTheirs) {
  const std::string arp = mac_text({0xFFFFFFFFFFFF}) + mac_text(kAlice) + "\x08\x06" + std::string(46, '\0');
  EXPECT_EQ(reason(arp, kWan), "not_ndn");
  later_ethertypes_ = {0x0800, 0x0806};
  create();
  EXPECT_EQ(process(arp, kWan).kind, Verdict::Kind::pass);
  EXPECT_EQ(process(mac_text(ports_[kWan].mac) + mac_text(kAlice) + "\x86\xDD" + std::string(60, '\0'), kWan).kind,
            Verdict::Kind::punt);
}

TEST_F(Ndn, ShowsNamesAndFaces) {
  from_alice(interest("/a/b/c"));
  from_alice(interest("/x"));
  const auto all = function_->show("names", {});
  EXPECT_EQ(all["total"], 5);
  EXPECT_EQ(all["names"][0], (nlohmann::ordered_json{{"prefix", "/a"}, {"face", "alice"}}));
  const auto show = [this](const std::string& name) { return function_->show("names", std::vector{name}); };
  EXPECT_EQ(show("/a/b/c/d")["names"][0]["prefix"], "/a/b");
  EXPECT_EQ(show("/x")["note"], "/x has no route");
  EXPECT_THROW(show("x"), std::invalid_argument);
  const auto faces = function_->show("faces", {});
  EXPECT_EQ(faces[0]["in"]["interests"], 2);
  EXPECT_EQ(faces[0]["out"]["nacks"], 1);
  EXPECT_EQ(faces[1]["out"]["interests"], 1);
  EXPECT_EQ(faces[3]["local"], "udp4://192.0.2.1:6363");
  EXPECT_THROW(function_->show("faces", std::vector<std::string>{"x"}), std::invalid_argument);
}

TEST_F(Ndn, TakesOverOtherRoutesAndGivesThemBack) {
  const ConfigNode config = ConfigNode::parse(kFaces, "test.yaml", ".");
  const auto next = make("/a bob\n/c carol\n/new alice\n");
  EXPECT_THAT(function_->differences(*next, config),
              testing::ElementsAre("routes: 1 added, 3 removed, 1 changed, 1 as before"));
  EXPECT_THAT(function_->differences(*make(kRoutes), config), testing::IsEmpty());
  const auto face_of = [this](const std::string& name) {
    const auto shown = function_->show("names", std::vector{name})["names"];
    return shown.empty() ? std::string() : shown[0]["face"].get<std::string>();
  };
  function_->exchange(*next);
  EXPECT_EQ(face_of("/a/b"), "bob");
  EXPECT_EQ(face_of("/new"), "alice");
  EXPECT_EQ(face_of("/all"), "");
  function_->exchange(*next);
  EXPECT_EQ(face_of("/a"), "alice");
  EXPECT_EQ(face_of("/new"), "");
  EXPECT_EQ(face_of("/all"), "all");
  const auto other = make("/a alice\n", "faces: [{name: alice, port: wan, remote: \"ether://[02:00:00:00:00:ab]\"}]\n");
  EXPECT_THROW(function_->differences(*other, config), InputError);
}

TEST_F(Ndn, RefusesWrongConfiguration) {
  const auto expect_error = [this](const std::string& routes, const std::string& faces, const std::string& part) {
    EXPECT_THAT(message_of([&] { make(routes, faces); }), testing::HasSubstr(part));
  };
  expect_error("/a nobody\n", kFaces, "names.txt:1:4: ");
  expect_error("", "", "test.yaml");
  expect_error("", kFaces + "mtu: 9\n", "mtu");
  EXPECT_THROW(find_function("ndn")->create(ConfigNode::parse(kFaces + "routes: missing.txt\n", "test.yaml", "."),
                                            {ports_, no_readers_}),
               InputError);
}

}  // namespace
}  // namespace penumbra::ndn
