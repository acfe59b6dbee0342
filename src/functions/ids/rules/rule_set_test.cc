// SPDX-License-Identifier: Apache-2.0
//
// Tests rule sets and the files around them.
#include "functions/ids/rules/rule_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/scratch_folder.h"
#include "functions/ids/rules/suricata_yaml.h"
#include "functions/ids/rules/testing.h"
#include "testing/message_of.h"

namespace penumbra::ids {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

RuleSet load(std::vector<std::filesystem::path> rules) {
  RuleSetOptions options;
  options.rules = std::move(rules);
  return RuleSet::load(options);
}

TEST(RuleSet, TakesTheFoldersOfSuricataUpdate) {
  const ScratchFolder folder;
  write(folder / "classification.config", "# names\nconfig classification: bad-unknown,Bad, or not,2\n");
  write(folder / "reference.config", "config reference: cve  https://cve.example/\n");
  write(folder / "threshold.config", "suppress gen_id 1, sig_id 2, track by_src, ip [10.0.0.0/8,!10.1.0.0/16]\n");
  write(folder / "rules/b.rules", rule_text("classtype:bad-unknown;"));
  write(folder / "rules/a.rules",
        "alert ip any any -> any any (sid:2; classtype:other;)\n# alert ip any any -> any any (sid:3;)\n");
  write(folder / "rules/notes.txt", "no rules");
  const RuleSet set = load({folder.path()});
  ASSERT_EQ(set.rules().size(), 2U);
  EXPECT_EQ(set.rules()[0].sid, 2U);  // a.rules comes first
  EXPECT_EQ(set.priority_of(set.rules()[0]), 3U);
  EXPECT_EQ(set.priority_of(set.rules()[1]), 2U);
  EXPECT_EQ(set.classifications().at("bad-unknown").description, "Bad, or not");
  EXPECT_EQ(set.references().at("cve"), "https://cve.example/");
  EXPECT_EQ(set.disabled(), 1U);
  ASSERT_EQ(set.thresholds().size(), 1U);
  EXPECT_FALSE(set.thresholds()[0].addresses->contains(Ipv4Address{0x0A010000}));
  EXPECT_THAT(set.warnings(), ElementsAre(HasSubstr("a.rules:1:1: classtype 'other' is in no classification file")));
}

TEST(RuleSet, ReportsRefusedRulesAndTakesTheOthers) {
  RuleSet set;
  HeaderSets sets(Variables::defaults());
  set.read(
      "alert ip any any -> any any (sid:1;)\nalert ip any any -> any any (bad; sid:2;)\njunk\n"
      "alert ip any any -> any any (sid:1; rev:2;)\nalert ip any any -> any any (sid:1; rev:1;)\n"
      "alert ip any any -> any any (sid:1; gid:2;)\n",
      "f", sets);
  EXPECT_EQ(set.rules().size(), 2U);
  EXPECT_EQ(set.rules()[0].rev, 2U);
  ASSERT_EQ(set.refused().size(), 4U);
  EXPECT_EQ(set.refused()[0].sid, 2U);
  EXPECT_EQ(set.refused()[0].reason, "unknown keyword");
  EXPECT_EQ(set.refused()[0].text(), "f:2:30: unknown keyword: 'bad'");
  EXPECT_EQ(set.refused()[1].sid, std::nullopt);
  EXPECT_EQ(set.refused()[1].text(), "f:3:1: rule has no options in parentheses: 'junk'");
  EXPECT_EQ(set.refused()[2].text(), "f:1:1: rule with the sid of another rule: f:4");
  EXPECT_EQ(set.refused()[3].text(), "f:5:1: rule with the sid of another rule: f:4");
}

TEST(RuleSet, WarnsOfFlowbitsThatNoRuleSets) {
  const ScratchFolder folder;
  write(
      folder / "a.rules",
      "alert ip any any -> any any (flowbits:set,a; sid:1;)\nalert ip any any -> any any (flowbits:isset,b|a; sid:2;)\n"
      "alert ip any any -> any any (flowbits:isset,c; sid:3;)\nalert ip any any -> any any (flowbits:unset,c; "
      "sid:4;)\n");
  EXPECT_THAT(load({folder / "a.rules"}).warnings(),
              ElementsAre(HasSubstr("a.rules:3:1: no rule sets the flowbit 'c' that rule 3 tests")));
}

TEST(RuleSet, NamesFilesThatCannotBeRead) {
  const ScratchFolder folder;
  EXPECT_THAT(message_of([&] { load({folder / "none.rules"}); }), HasSubstr("none.rules"));
  EXPECT_THAT(message_of([&] { load({folder.path()}); }), HasSubstr("folder has no files *.rules"));
}

TEST(ThresholdFile, ReadsItsLines) {
  HeaderSets sets(Variables::defaults());
  const auto entries = read_threshold_file(
      "suppress gen_id 1, sig_id 0\nsuppress gen_id 1, sig_id 5, track by_either, ip $HOME_NET\n"
      "event_filter gen_id 1, sig_id 9, type both, track by_rule, count 3, seconds 60\n"
      "rate_filter gen_id 1, sig_id 7, track by_both, count 5, seconds 10, new_action drop, timeout 30\n",
      "t", sets);
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].addresses, nullptr);
  EXPECT_EQ(entries[1].who, ThresholdEntry::Who::either);
  EXPECT_TRUE(entries[1].addresses->contains(Ipv4Address{0x0A000001}));
  EXPECT_EQ(entries[2].threshold.type, Threshold::Type::both);
  EXPECT_EQ(entries[2].threshold.track, Track::rule);
  EXPECT_EQ(entries[3].new_action, Action::drop);
  EXPECT_EQ(entries[3].timeout, 30U);
}

TEST(ThresholdFile, RefusesWrongLinesAtTheirPlace) {
  HeaderSets sets(Variables::defaults());
  const std::vector<std::pair<std::string, std::string>> cases{
      {"supress gen_id 1, sig_id 1", "t:1:1: line is neither suppress, threshold"},
      {"suppress sig_id 1", "t:1:1: line has no gen_id and sig_id"},
      {"suppress gen_id 1, sig_id x", "t:1:20: word is not understood: 'sig_id x'"},
      {"suppress gen_id 1, sig_id 1, gen_id 2", "t:1:30: word is not understood: 'gen_id 2'"},
      {"suppress gen_id 1, sig_id 1, track by_src", "'track' without 'ip'"},
      {"suppress gen_id 1, sig_id 1, track by_me, ip 1.2.3.4", "word is not understood: 'track by_me'"},
      {"suppress gen_id 1, sig_id 1, track by_src, ip 1.2.3.400", "t:1:47: address is not understood"},
      {"threshold gen_id 1, sig_id 1, track by_src, count 1, seconds 1", "line lacks track, count, seconds or type"},
      {"rate_filter gen_id 1, sig_id 1, track by_src, count 1, seconds 1, timeout 1", "line lacks new_action"}};
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(message_of([&, &line = text] { read_threshold_file(line, "t", sets); }), HasSubstr(message)) << text;
  }
}

TEST(Classification, RefusesWrongLinesAtTheirPlace) {
  Classifications classifications;
  References references;
  EXPECT_THAT(message_of([&] { read_classifications("config classification: a,b\n", "c", classifications); }),
              HasSubstr("c:1:24: entry is not 'NAME,DESCRIPTION,PRIORITY': 'a,b'"));
  EXPECT_THAT(message_of([&] { read_classifications("config classification: a,b,0\n", "c", classifications); }),
              HasSubstr("c:1:28: priority is not 1 to 255: '0'"));
  EXPECT_THAT(message_of([&] { read_classifications("classification: a,b,1\n", "c", classifications); }),
              HasSubstr("c:1:1: line is not 'config classification: ...'"));
  EXPECT_THAT(message_of([&] { read_references("config reference: cve\n", "r", references); }),
              HasSubstr("r:1:19: entry is not 'NAME URL': 'cve'"));
}

TEST(SuricataYaml, NamesFilesAndVariables) {
  const ScratchFolder folder;
  write(
      folder / "suricata.yaml",
      "%YAML 1.1\n---\nvars:\n  address-groups:\n    HOME_NET: \"[10.0.0.0/8]\"\n    DNS_SERVERS: [1.1.1.1, 8.8.8.8]\n"
      "  port-groups:\n    HTTP_PORTS: 8000\ndefault-rule-path: rules\nrule-files:\n  - a.rules\n  - b*.rules\n"
      "classification-file: class.config\nthreshold-file: thresholds\noutputs: []\naf-packet:\n");
  for (const char* const name : {"a", "b1", "b2"}) write(folder / ("rules/" + std::string(name) + ".rules"), "");
  const SuricataYaml yaml = read_suricata_yaml(folder / "suricata.yaml");
  EXPECT_EQ(yaml.options.variables.addresses.at("DNS_SERVERS"), "[1.1.1.1,8.8.8.8]");
  EXPECT_EQ(yaml.options.variables.addresses.at("EXTERNAL_NET"), "!$HOME_NET");
  EXPECT_EQ(yaml.options.variables.ports.at("HTTP_PORTS"), "8000");
  EXPECT_THAT(yaml.options.rules,
              ElementsAre(folder / "rules/a.rules", folder / "rules/b1.rules", folder / "rules/b2.rules"));
  EXPECT_THAT(yaml.options.classifications, ElementsAre(folder / "class.config"));
  EXPECT_THAT(yaml.options.thresholds, ElementsAre(folder / "thresholds"));
  EXPECT_THAT(yaml.options.references, IsEmpty());
  EXPECT_THAT(yaml.warning, HasSubstr("these sections have no effect: outputs, af-packet"));
}

TEST(SuricataYaml, OrdersActionsAndKnowsTunnels) {
  const ScratchFolder folder;
  write(folder / "a.yaml",
        "vars: {port-groups: {VXLAN_PORTS: \"[4789,8472]\"}}\n"
        "action-order: [drop, alert, reject, pass]\n"
        "decoder:\n  ipv4: {ipip: {enabled: no}}\n  teredo: {enabled: false}\n"
        "  vxlan: {ports: $VXLAN_PORTS}\n  geneve: {ports: [7000]}\n  vntag: {enabled: yes}\n");
  const SuricataYaml yaml = read_suricata_yaml(folder / "a.yaml");
  EXPECT_THAT(yaml.options.action_order, ElementsAre(Action::drop, Action::alert, Action::reject, Action::pass));
  ASSERT_TRUE(yaml.tunnels);
  EXPECT_FALSE(yaml.tunnels->ip_in_ip);
  EXPECT_TRUE(yaml.tunnels->teredo.empty());
  EXPECT_TRUE(yaml.tunnels->vxlan.contains(8472));
  EXPECT_EQ(yaml.tunnels->geneve, TunnelSettings::port(7000));
  EXPECT_THAT(yaml.warning, HasSubstr("these sections have no effect: decoder.vntag"));
  write(folder / "none.yaml", "rule-files: []\n");
  const SuricataYaml none = read_suricata_yaml(folder / "none.yaml");
  EXPECT_EQ(none.options.action_order, kActionOrder);
  EXPECT_FALSE(none.tunnels);
}

TEST(SuricataYaml, RefusesWrongValuesAtTheirPlace) {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& text) {
    write(folder / "wrong.yaml", text);
    return message_of([&] { read_suricata_yaml(folder / "wrong.yaml"); });
  };
  EXPECT_THAT(refused("action-order:\n  - drop\n  - drop\n"), HasSubstr("wrong.yaml:3:5: found 'drop', needs pass"));
  EXPECT_THAT(refused("action-order:\n  - block\n"), HasSubstr("wrong.yaml:2:5: found 'block', needs pass"));
  EXPECT_THAT(refused("action-order: [drop, pass]\n"), HasSubstr("needs pass, drop, reject and alert, each once"));
  EXPECT_THAT(refused("decoder:\n  vxlan:\n    ports: $NONE\n"), HasSubstr("wrong.yaml:3:12: "));
  EXPECT_THAT(refused("decoder:\n  teredo: {enabled: maybe}\n"), HasSubstr("found 'maybe', needs yes or no"));
  write(folder / "a.yaml", "rule-files:\n  - none*.rules\n");
  EXPECT_THAT(message_of([&] { read_suricata_yaml(folder / "a.yaml"); }), HasSubstr("a.yaml:2:5: "));
  write(folder / "b.yaml", "vars: 5\n");
  EXPECT_THAT(message_of([&] { read_suricata_yaml(folder / "b.yaml"); }), HasSubstr("b.yaml:1:"));
}

}  // namespace
}  // namespace penumbra::ids
