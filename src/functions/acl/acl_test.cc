// SPDX-License-Identifier: Apache-2.0
//
// Tests the function in the way in which a pipeline uses it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "penumbra/errors.h"
#include "penumbra/function.h"
#include "tables/rules/rule_structures.h"
#include "testing/function_fixture.h"
#include "testing/message_of.h"

namespace penumbra::acl {
namespace {

using function_testing::append;
using function_testing::Bytes;
using testing::HasSubstr;

constexpr std::uint16_t kWhole = 0, kFirstFragment = 0x2000, kLaterFragment = 0x0010;

/// Returns a UDP packet from 10.0.0.1 to 10.0.0.2.
Bytes ipv4_frame(std::uint16_t destination_port, std::uint16_t fragment = kWhole) {
  Bytes frame{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 28, 0, 0};
  append(frame, fragment, 2);
  frame.insert(frame.end(), {64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 4, 0});
  append(frame, destination_port, 2);
  append(frame, 8, 2);
  append(frame, 0, 2);
  return frame;
}
/// Returns a UDP packet from 2001:db8::1 to 2001:db8::2.
Bytes ipv6_frame(std::uint16_t destination_port) {
  Bytes frame{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xDD, 0x60, 0, 0, 0, 0, 8, 17, 64};
  for (const std::uint8_t host : {1, 2}) {
    frame.insert(frame.end(), {0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host});
  }
  append(frame, 1024, 2);
  append(frame, destination_port, 2);
  append(frame, 8, 2);
  append(frame, 0, 2);
  return frame;
}

class AclTest : public function_testing::FunctionTest {
 protected:
  AclTest() : FunctionTest("acl") {}
  std::unique_ptr<Function> make(const std::string& entries, const std::string& more = "") {
    write("list", entries);
    return FunctionTest::make("{rules: list" + more + "}");
  }
  void create(const std::string& entries, const std::string& more = "") {
    write("list", entries);
    FunctionTest::create("{rules: list" + more + "}");
  }
  void reload(const std::string& entries) {
    const auto next = make(entries);
    function_->exchange(*next);
  }
  /// Returns the name of the reason why the frame is dropped, or "" if it passes.
  std::string fate(const Bytes& frame) {
    const std::string name = reason(frame);
    EXPECT_TRUE(chunk_.verdicts[0] == Verdict{} || chunk_.verdicts[0].kind == Verdict::Kind::drop);
    return name == "pass" ? "" : name;
  }
  nlohmann::ordered_json row(std::size_t place) { return function_->show("acl", {})["acl"].at(place); }
};

TEST_F(AclTest, TheFirstEntryThatMatchesDecides) {
  create("deny proto udp dport 53\npermit src 10.0.0.0/8\ndeny\n");
  EXPECT_EQ(fate(ipv4_frame(53)), "denied");
  EXPECT_EQ(trace_, "denied by the entry of line 1");
  EXPECT_EQ(fate(ipv4_frame(54)), "");
  EXPECT_EQ(trace_, "permitted by the entry of line 2");
  EXPECT_EQ(fate(ipv6_frame(54)), "denied");
}

TEST_F(AclTest, WhatNoEntryMatchesIsTheDefaults) {
  create("permit ipv6\n");
  EXPECT_EQ(fate(ipv4_frame(1)), "denied_by_default");
  EXPECT_EQ(trace_, "denied by default");
  EXPECT_EQ(fate(ipv6_frame(1)), "");
  create("deny ipv6\n", ", default: permit");
  EXPECT_EQ(fate(ipv4_frame(1)), "");
  EXPECT_EQ(fate(ipv6_frame(1)), "denied");
  create("");
  EXPECT_EQ(fate(ipv4_frame(1)), "denied_by_default");
}

TEST_F(AclTest, LeavesOthersPacketsAlone) {
  create("deny\n", ", family: ipv4");
  EXPECT_EQ(fate(ipv4_frame(1)), "denied");
  EXPECT_EQ(fate(ipv6_frame(1)), "");
  EXPECT_EQ(trace_, "not decided on");
  create("deny\n", ", family: ipv6");
  EXPECT_EQ(fate(ipv4_frame(1)), "");
  EXPECT_EQ(fate(ipv6_frame(1)), "denied");
  Bytes arp = ipv4_frame(1);
  arp[13] = 6;
  create("deny\n");
  EXPECT_EQ(fate(arp), "");
  EXPECT_EQ(trace_, "not decided on");
}

TEST_F(AclTest, WhatNobodyCanReadIsDropped) {
  create("permit\n");
  Bytes cut = ipv4_frame(1);
  cut.resize(30);
  EXPECT_EQ(fate(cut), "malformed");
  Bytes longer = ipv4_frame(1);
  longer[17] = 200;
  EXPECT_EQ(fate(longer), "malformed");
}

TEST_F(AclTest, TheFirstFragmentHasPorts) {
  create("deny proto udp dport 53\npermit\n");
  EXPECT_EQ(fate(ipv4_frame(53, kFirstFragment)), "denied");
  EXPECT_EQ(fate(ipv4_frame(53, kLaterFragment)), "") << "what stands there is no port";
}

/// Returns a UDP packet to port 53 with `headers` extension headers.
Bytes ipv6_frame_behind(int headers) {
  Bytes frame = ipv6_frame(53);
  for (int header = 0; header < headers; ++header) {
    const Bytes options{frame[20], 0, 1, 4, 0, 0, 0, 0};
    frame[20] = 60;
    frame.insert(frame.begin() + 54, options.begin(), options.end());
    frame[19] = static_cast<std::uint8_t>(frame[19] + 8);
  }
  return frame;
}

TEST_F(AclTest, NothingThatItCannotReadPasses) {
  create("deny proto udp dport 53\npermit\n");
  for (int headers = 0; headers < 10; ++headers) {
    EXPECT_EQ(fate(ipv6_frame_behind(headers)), headers <= 8 ? "denied" : "unparsable") << headers;
  }
  EXPECT_EQ(trace_, "not decided on");
  Bytes tiny = ipv4_frame(54, kFirstFragment);
  tiny[17] = 27;  // the UDP header is one byte short
  EXPECT_EQ(fate(tiny), "unparsable");
  Bytes overwriting = ipv4_frame(54, 1);
  overwriting[23] = 6;
  EXPECT_EQ(fate(overwriting), "unparsable");
  create("permit\n", ", extension_headers: 2");
  EXPECT_EQ(fate(ipv6_frame_behind(2)), "");
  EXPECT_EQ(fate(ipv6_frame_behind(3)), "unparsable");
  create("permit\n", ", extension_headers: 0");
  EXPECT_EQ(fate(ipv6_frame_behind(0)), "");
  EXPECT_EQ(fate(ipv6_frame_behind(1)), "unparsable");
}

TEST_F(AclTest, FragmentsAreNamedOrDropped) {
  for (const RuleStructure& structure : rule_structures()) {
    for (const char* const family : {", family: ipv4", ""}) {
      create("deny fragment later\npermit\n", family + (", shader: " + structure.name));
      EXPECT_EQ(fate(ipv4_frame(53)), "") << structure.name;
      EXPECT_EQ(fate(ipv4_frame(53, kFirstFragment)), "") << structure.name;
      EXPECT_EQ(fate(ipv4_frame(53, kLaterFragment)), "denied") << structure.name;
    }
    create("deny exthdr dst\npermit\n", ", shader: " + structure.name);
    EXPECT_EQ(fate(ipv6_frame_behind(0)), "") << structure.name;
    EXPECT_EQ(fate(ipv6_frame_behind(1)), "denied") << structure.name;
  }
  create("permit\n", ", fragments: drop");
  EXPECT_EQ(fate(ipv4_frame(53)), "");
  EXPECT_EQ(fate(ipv4_frame(53, kFirstFragment)), "fragment");
  EXPECT_EQ(fate(ipv4_frame(53, kLaterFragment)), "fragment");
}

TEST_F(AclTest, AReloadChangesWhatIsDroppedUnseen) {
  create("permit\n");
  const auto next = make("permit\n", ", fragments: drop, extension_headers: 1");
  EXPECT_THAT(function_->differences(*next, parse("{}")),
              testing::ElementsAre("fragments are dropped", "extension headers: 1 at the most, was 8"));
  function_->exchange(*next);
  EXPECT_EQ(fate(ipv4_frame(53, kFirstFragment)), "fragment");
  EXPECT_EQ(fate(ipv6_frame_behind(2)), "unparsable");
  function_->exchange(*next);
  EXPECT_EQ(fate(ipv4_frame(53, kFirstFragment)), "");
  EXPECT_EQ(fate(ipv6_frame_behind(2)), "");
}

TEST_F(AclTest, CountsByEntry) {
  create("deny proto udp dport 53\npermit\n");
  for (int i = 0; i < 3; ++i) fate(ipv4_frame(53));
  fate(ipv6_frame(80));
  EXPECT_EQ(row(0)["line"], 1);
  EXPECT_EQ(row(0)["entry"], "deny proto udp dport 53");
  EXPECT_EQ(row(0)["packets"], 3);
  EXPECT_EQ(row(0)["bytes"], 3 * 28);
  EXPECT_GE(row(0)["last_hit_seconds_ago"], 0);
  EXPECT_EQ(row(1)["bytes"], 48);
  EXPECT_EQ(row(2)["entry"], "deny (default)");
  EXPECT_EQ(row(2)["packets"], 0);
  EXPECT_TRUE(row(2)["last_hit_seconds_ago"].is_null());
  EXPECT_TRUE(row(2)["line"].is_null());
  const std::vector<std::string> two{"--limit", "2"};
  EXPECT_EQ(function_->show("acl", two)["acl"].size(), 2U);
  EXPECT_EQ(function_->show("acl", two)["total"], 3);
  EXPECT_THROW(function_->show("acl", std::vector<std::string>{"x"}), std::invalid_argument);
}

TEST_F(AclTest, AReloadKeepsWhatBothListsHave) {
  create("deny proto udp dport 53\npermit src 10.0.0.0/8\n");
  fate(ipv4_frame(53));
  fate(ipv4_frame(80));
  const auto next =
      make("deny proto udp dport 80\n# moved down\ndeny proto udp dport 53\npermit\n", ", default: permit");
  EXPECT_THAT(function_->differences(*next, parse("{}")),
              testing::ElementsAre("entries added: 3", "entries removed: 2"));
  function_->exchange(*next);
  EXPECT_EQ(row(1)["line"], 3);
  EXPECT_EQ(row(1)["packets"], 1) << "its count goes on";
  EXPECT_EQ(row(0)["packets"], 0);
  EXPECT_EQ(fate(ipv4_frame(53)), "denied");
  EXPECT_EQ(trace_, "denied by the entry of line 3");
  EXPECT_EQ(fate(ipv4_frame(80)), "denied");
  EXPECT_EQ(fate(ipv6_frame(81)), "");
  function_->exchange(*next);
  EXPECT_EQ(fate(ipv4_frame(80)), "");
  EXPECT_EQ(fate(ipv6_frame(81)), "denied_by_default");
  EXPECT_EQ(function_->show("acl", {})["total"], 3);
}

TEST_F(AclTest, WhatTakesARestartIsSaid) {
  create("deny\n", ", shader: linear");
  const auto expect_refusal = [this](const std::string& more) {
    const auto config = parse("{rules: list" + more + "}");
    EXPECT_THROW(function_->differences(*make("deny\n", more), config), InputError) << more;
  };
  expect_refusal(", family: ipv4, shader: linear");
  expect_refusal(", shader: tuple");
  EXPECT_TRUE(function_->differences(*make("deny\n"), parse("{}")).empty());
}

TEST_F(AclTest, SaysHowItSearches) {
  create("deny\n", ", shader: tuple");
  const auto told = function_->show("acl-shader", {});
  EXPECT_EQ(told["structure"], "tuple");
  EXPECT_EQ(told["why"], "the configuration");
  create("deny\n");
  const auto chosen = function_->show("acl-shader", {});
  EXPECT_EQ(chosen["measured"].size(), rule_structures().size());
  EXPECT_TRUE(chosen["measured"].contains(chosen["structure"].get<std::string>()));
}

TEST_F(AclTest, EveryStructureDecidesAlike) {
  for (const RuleStructure& structure : rule_structures()) {
    create("deny proto udp dport 50-60\npermit src 10.0.0.0/8\n", ", shader: " + structure.name);
    EXPECT_EQ(fate(ipv4_frame(53)), "denied") << structure.name;
    EXPECT_EQ(fate(ipv4_frame(61)), "") << structure.name;
    EXPECT_EQ(fate(ipv6_frame(61)), "denied_by_default") << structure.name;
  }
}

TEST_F(AclTest, AWrongConfigurationIsRefusedWithItsPlace) {
  const auto expect_refusal = [this](const std::string& config, const std::string& message) {
    EXPECT_THAT(message_of([&] { FunctionTest::make(config); }), HasSubstr(message)) << config;
  };
  write("list", "permit\nallow\n");
  expect_refusal("{}", "test.yaml:1");
  expect_refusal("{rules: nowhere}", "nowhere");
  expect_refusal("{rules: list}", "list:2:1: ");
  expect_refusal("{rules: list, default: dney}", "did you mean 'deny'?");
  expect_refusal("{rules: list, family: ip}", "test.yaml:1:");
  expect_refusal("{rules: list, shader: tupel}", "did you mean 'tuple'?");
  expect_refusal("{rules: list, rule: x}", "rule");
  expect_refusal("{rules: list, fragments: pass}", "drop");
  expect_refusal("{rules: list, extension_headers: 9}", "8");
}

}  // namespace
}  // namespace penumbra::acl
