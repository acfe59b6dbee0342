// SPDX-License-Identifier: Apache-2.0
#include "penumbra/config_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/message_of.h"

namespace penumbra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ConfigNode parse(const std::string& text) {
  return ConfigNode::parse(text, "c.yaml", "/etc");
}

TEST(ConfigNode, ReadsValuesAndKnowsTheirPlaces) {
  const auto root = parse("number: 12\nlist:\n  - text\n  - {yes: true, file: a/b, abs: /x}\n");
  EXPECT_THAT(root.keys(), ElementsAre("number", "list"));
  EXPECT_EQ(root.at("number").integer(12, 12), 12U);
  const auto list = root.at("list").list();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].text(), "text");
  EXPECT_EQ(list[0].location().line, 3);
  EXPECT_EQ(list[0].location().column, 5);
  EXPECT_TRUE(list[1].at("yes").boolean());
  EXPECT_EQ(list[1].at("file").path(), "/etc/a/b");
  EXPECT_EQ(list[1].at("abs").path(), "/x");
  EXPECT_THAT(message_of([&] { list[1].at("file").boolean(); }),
              StartsWith("c.yaml:4:23: expected true or false for list[1].file, found 'a/b'"));
}

TEST(ConfigNode, KnowsThePlaceOfAnAlias) {
  const auto root =
      parse("first: &x {a: 12, b: [7]}\nnumber: &n 5\nlist:\n  - 1\n  - *n\nsame: *x\nmap: {c: *n, *n : 3}\n");
  const auto place = [](const ConfigNode& node) {
    return std::to_string(node.location().line) + ":" + std::to_string(node.location().column);
  };
  EXPECT_EQ(place(root.at("first").at("a")), "1:15");
  EXPECT_EQ(place(root.at("number")), "2:9");
  EXPECT_EQ(place(root.at("list").list()[1]), "5:5");
  EXPECT_EQ(root.at("list").list()[1].integer(0, 9), 5U);
  EXPECT_EQ(place(root.at("same")), "6:7");
  EXPECT_EQ(place(root.at("same").at("a")), "6:7") << "its content is written elsewhere";
  EXPECT_EQ(place(root.at("same").at("b").list()[0]), "6:7");
  EXPECT_EQ(place(root.at("same").get("missing")), "6:7");
  EXPECT_EQ(place(root.at("map").at("c")), "7:10");
  EXPECT_EQ(place(root.at("map").at("5")), "7:19") << "the key is an alias, the value is not";
  EXPECT_THAT(message_of([&] { root.at("same").require_map({"a"}); }), StartsWith("c.yaml:6:7: unknown key 'b'"));
  EXPECT_THAT(message_of([&] { root.at("first").require_map({"a"}); }), StartsWith("c.yaml:1:19: unknown key 'b'"));
}

TEST(ConfigNode, RefusesNumbersWithLeadingZeros) {
  const auto root = parse("{octal: 0100, zero: 0, zeros: 00}");
  EXPECT_EQ(root.at("zero").integer(0, 9), 0U);
  EXPECT_THAT(message_of([&] { root.at("octal").integer(0, 999); }), HasSubstr("a number without leading zeros"));
  EXPECT_THAT(message_of([&] { root.at("zeros").integer(0, 999); }), HasSubstr("a number without leading zeros"));
}

TEST(ConfigNode, AMissingKeyIsAbsentToEveryAccessor) {
  const auto root = parse("a:\n  b: 1\n");
  const auto missing = root.at("a").get("c");
  EXPECT_FALSE(missing.present());
  EXPECT_FALSE(missing.is_map() || missing.is_list() || missing.is_scalar());
  const std::string place = "c.yaml:2:3: ";
  EXPECT_EQ(message_of([&] { missing.text(); }), place + "expected a text for a.c, found nothing");
  EXPECT_EQ(message_of([&] { missing.integer(0, 1); }),
            place + "expected a whole number from 0 to 1 for a.c, found nothing");
  EXPECT_EQ(message_of([&] { missing.boolean(); }), place + "expected true or false for a.c, found nothing");
  EXPECT_EQ(message_of([&] { missing.list(); }), place + "expected a list for a.c, found nothing");
  EXPECT_EQ(message_of([&] { missing.keys(); }), place + "expected a map, found nothing");
  EXPECT_EQ(message_of([&] { missing.require_map({"x"}); }), place + "expected a map with the keys x, found nothing");
  EXPECT_EQ(message_of([&] { root.at("a").at("c"); }), place + "'c' is missing in a");
  EXPECT_FALSE(missing.get("d").present());
  EXPECT_FALSE(root.at("a").at("b").get("key of a text").present());
}

TEST(ConfigNode, AKeyWithoutAValueIsThereWithNothing) {
  const auto root = parse("x: 1\nempty:\ntilde: ~\n");
  EXPECT_TRUE(root.get("empty").present());
  EXPECT_TRUE(root.get("empty").is_null());
  EXPECT_EQ(message_of([&] { root.at("empty").text(); }), "c.yaml:2:1: expected a text for empty, found nothing");
  EXPECT_EQ(message_of([&] { root.get("tilde").path(); }), "c.yaml:3:1: expected a text for tilde, found nothing");
  EXPECT_EQ(message_of([&] { root.get("empty").list(); }), "c.yaml:2:1: expected a list for empty, found nothing");
  EXPECT_EQ(message_of([&] { root.get("empty").require_map({"x"}); }),
            "c.yaml:2:1: expected a map with the keys x, found nothing");
}

TEST(ConfigNode, RefusesUnknownRepeatedAndNonScalarKeys) {
  EXPECT_EQ(message_of([] { parse("ports: 1\nprots: 2\n").require_map({"ports", "engine"}); }),
            "c.yaml:2:1: unknown key 'prots' in the configuration; did you mean 'ports'?");
  EXPECT_EQ(message_of([] { parse("zzz: 2\n").require_map({"ports", "engine"}); }),
            "c.yaml:1:1: unknown key 'zzz' in the configuration; valid keys: ports, engine");
  EXPECT_EQ(message_of([] { parse("ports: 1\nports: 2\n").require_map({"ports"}); }),
            "c.yaml:2:1: key 'ports' is given twice in the configuration");
  EXPECT_EQ(message_of([] { parse("? [1]\n: 2\n").require_map({"ports"}); }),
            "c.yaml:1:3: expected a key, found a list");
  EXPECT_THAT(message_of([] { parse("? {a: 1}\n: 2\n").keys(); }), HasSubstr("found a map"));
  EXPECT_EQ(message_of([] { parse("<<: {ports: 1}\n").require_map({"ports"}); }),
            "c.yaml:1:1: unknown key '<<' in the configuration; valid keys: ports");
}

TEST(ConfigNode, NumbersAreWholeAndWithinBounds) {
  for (const char* text :
       {"-1", "+1", "1.0", "0x1", "1e1", "''", "' 1'", "18446744073709551616", "[1]", "{}", "~", "11", "0"}) {
    EXPECT_THAT(message_of([&] { parse(std::string("n: ") + text).get("n").integer(1, 10); }),
                HasSubstr("expected a whole number from 1 to 10 for n"))
        << text;
  }
  EXPECT_EQ(parse("n: 18446744073709551615").get("n").integer(0, ~std::uint64_t{0}), ~std::uint64_t{0});
}

TEST(ConfigNode, WithoutHidesOneKeyAndKeepsThePlaces) {
  const auto root = parse("a: 1\nb: {c: 2}\nengine: x\n");
  const auto rest = root.without("engine");
  EXPECT_THAT(rest.keys(), ElementsAre("a", "b"));
  EXPECT_EQ(rest.at("b").at("c").location().line, 2);
  EXPECT_THAT(root.keys(), ElementsAre("a", "b", "engine"));
  EXPECT_THAT(root.at("b").empty_map().keys(), ElementsAre());
  EXPECT_EQ(root.at("b").empty_map().location().line, 2);
}

TEST(ConfigNode, AssigningANodeLeavesTheDocumentAlone) {
  const auto root = parse("a: 1\nb: 2\n");
  ConfigNode node = root.at("a");
  node = root.at("b");
  EXPECT_EQ(node.text(), "2");
  EXPECT_EQ(root.at("a").text(), "1");
  node = root.get("missing");
  EXPECT_FALSE(node.present());
  EXPECT_EQ(root.at("b").text(), "2");
}

TEST(ConfigNode, AnchorsAndTagsAreWhatTheyStandFor) {
  const auto root = parse("a: &x {k: 1}\nb: *x\nc: !any 5\nd: !!str 6\n");
  EXPECT_EQ(root.at("b").at("k").integer(0, 9), 1U);
  EXPECT_EQ(root.at("c").integer(0, 9), 5U);
  EXPECT_EQ(root.at("d").integer(0, 9), 6U);
}

TEST(ConfigNode, RefusesANodeThatContainsItself) {
  for (const char* text :
       {"a: &x [*x]\n", "a: &x {b: [1, {c: *x}]}\n", "a: &x {*x : 1}\n", "&x a: &x [*x, {b: *x}]\n"}) {
    EXPECT_THAT(message_of([&] { parse(text); }), HasSubstr("an alias is inside the node that it names")) << text;
  }
  EXPECT_EQ(message_of([] { parse("a: 1\nb:\n  - &x [*x]\n"); }),
            "c.yaml:3:5: an alias is inside the node that it names");
}

TEST(ConfigNode, RefusesABillionLaughsAtOnce) {
  std::string text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += (j == 0 ? "" : ", ") + below;
    text += "]\n";
    const std::string message = message_of([&] { parse(text); });
    EXPECT_THAT(message, HasSubstr(i < 4 ? "no error" : "aliases spell out over 100000 values more than")) << i;
  }
}

TEST(ConfigNode, DeepNestingIsAnError) {
  constexpr int kDeep = 100'000;
  std::string indented;
  for (int i = 0; i < 2'000; ++i) indented += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  std::string dashes;
  for (int i = 0; i < kDeep; ++i) dashes += "- ";
  std::string keys;
  for (int i = 0; i < kDeep; ++i) keys += "? ";
  std::string maps;
  for (int i = 0; i < kDeep; ++i) maps += "{a: {";
  for (const auto& text : {std::string(kDeep, '['), maps, dashes, keys, indented}) {
    EXPECT_THAT(message_of([&text] { parse(text); }), HasSubstr("nested too deeply")) << text.substr(0, 20);
  }
}

TEST(ConfigNode, TakesOneDocumentAndNoLess) {
  for (const char* text :
       {"a: 1", "a: 1\n...\n", "---\na: 1\n...", "a: |+\n  x\n\n", "a: 1 # end", "\xEF\xBB\xBF\x61: 1"}) {
    EXPECT_THAT(parse(text).keys(), ElementsAre("a")) << text;
  }
  EXPECT_EQ(message_of([] { parse(""); }), "c.yaml: is empty; expected a configuration");
  EXPECT_EQ(message_of([] { parse("# only this\n---\n"); }), "c.yaml: is empty; expected a configuration");
  EXPECT_EQ(message_of([] { parse("a: 1\n---\nb: 2\n"); }),
            "c.yaml:2:1: a second document begins here; expected one only");
  // YAML::LoadAll() would return documents endlessly.
  EXPECT_THAT(message_of([] { parse(","); }), HasSubstr("expected"));
  EXPECT_THAT(message_of([] { parse("a: [1\n"); }), StartsWith("c.yaml:2:1: not valid YAML: "));
  EXPECT_THAT(message_of([] { parse("a: \"x\n"); }), StartsWith("c.yaml:2:1: not valid YAML: "));
  EXPECT_EQ(message_of([] { ConfigNode::load("/"); }), "/: cannot be read: Is a directory");
  EXPECT_EQ(message_of([] { ConfigNode::load("/dev/zero"); }), "/dev/zero: is longer than 16777216 bytes");
}

}  // namespace
}  // namespace penumbra
