// SPDX-License-Identifier: Apache-2.0
#include "cli/render.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penumbra::cli {
namespace {

using json = nlohmann::ordered_json;

TEST(Render, AlignsATableWithColumnsAsGivenAndNumbersRight) {
  const json rows = {{{"packets", 7}, {"name", "wan"}, {"driver", "pcap"}},
                     {{"packets", 1234567}, {"name", "port-with-a-name"}, {"driver", "af_packet"}}};
  EXPECT_EQ(render(rows),
            "  packets  name              driver\n"
            "        7  wan               pcap\n"
            "1,234,567  port-with-a-name  af_packet\n");
}

TEST(Render, KeepsBytesExact) {
  EXPECT_EQ(render({{{"rx_bytes", 35651584}}}), "  rx bytes\n35,651,584\n");
}

TEST(Render, PutsAColumnWhereItsRowHasIt) {
  EXPECT_EQ(render({{{"a", 1}, {"z", 1}}, {{"a", 2}, {"b", 2}, {"z", 2}}}), "a  b  z\n1     1\n2  2  2\n");
}

TEST(Render, WritesAnObjectInARowAsAGroupOfColumns) {
  const json rows = {{{"worker", 0}, {"cycles_per_packet", {{"all", 12000}, {"ipv4.pre", 1.5}}}, {"x", 1}},
                     {{"worker", 1}, {"x", 2}}};
  EXPECT_EQ(render(rows),
            "        cycles per packet\n"
            "worker     all  ipv4.pre  x\n"
            "     0  12,000      1.50  1\n"
            "     1                    2\n");
}

TEST(Render, LeavesOutWhatSaysNothingOfATableThatIsTooWide) {
  const json rows = {{{"name", "a"}, {"zero", 0}, {"none", nullptr}, {"some", 1}},
                     {{"name", "b"}, {"zero", 0}, {"none", nullptr}, {"some", 20}}};
  EXPECT_EQ(render(rows, 22), "name  zero  none  some\na        0     -     1\nb        0     -    20\n");
  EXPECT_EQ(render(rows, 21), "name  zero  some\na        0     1\nb        0    20\n(--wide shows also:\nnone)\n");
}

TEST(Render, BreaksLongTextsOfATableThatIsTooWide) {
  const json rows = {{{"name", "a"}, {"text", "one two three four five six seven eight"}, {"n", 7}},
                     {{"name", "b"}, {"text", "short"}, {"n", 8}}};
  EXPECT_EQ(render(rows, 40),
            "name  text                             n\n"
            "a     one two three four five six      7\n"
            "      seven eight\n"
            "b     short                            8\n");
}

TEST(Render, LeavesOutTheRightmostColumnsAtLast) {
  const json rows = {{{"name", "a"}, {"cycles", {{"all", 1000}, {"shade", 2000}}}, {"last", 3000}}};
  EXPECT_EQ(render(rows, 12), "      cycles\nname   all\na     1000\n(--wide\nshows also:\ncycles\nshade, last)\n");
  EXPECT_EQ(render(rows, 3).substr(0, 5), "name\n") << "the first stays";
  EXPECT_EQ(render(rows, kUnlimitedWidth).find("--wide"), std::string::npos);
}

TEST(Render, LeavesGapsWhereARowLacksAKey) {
  EXPECT_EQ(render({{{"name", "a"}, {"x", 1}}, {{"name", "b"}}}), "name  x\na     1\nb\n");
}

TEST(Render, WritesAnObjectAsLinesAndTablesInIt) {
  const json object = {
      {"name", "router"}, {"up", true}, {"mac_address", nullptr}, {"workers", {{{"worker", 0}, {"core", 3}}}}};
  EXPECT_EQ(render(object),
            "name:        router\n"
            "up:          yes\n"
            "mac address: -\n"
            "workers:\n"
            "  worker  core\n"
            "       0     3\n");
}

TEST(Render, IndentsObjectsInAnObject) {
  EXPECT_EQ(render({{"ipv4", {{"total", 10000}, {"hops", {{{"via", 1}}}}}}}),
            "ipv4:\n"
            "  total: 10,000\n"
            "  hops:\n"
            "    via\n"
            "      1\n");
}

TEST(Render, WritesWhatIsNestedDeeperOnOneLine) {
  const json rows = {
      {{"packet", 1}, {"steps", {{{"stage", "ipv4"}, {"verdict", "send"}}, {{"stage", "x"}, {"verdict", "drop"}}}}}};
  EXPECT_EQ(render(rows), "packet  steps\n     1  stage ipv4 verdict send, stage x verdict drop\n");
}

TEST(Render, WritesOneElementALine) {
  EXPECT_EQ(render({"one", "two"}), "one\ntwo\n");
}

TEST(Render, SaysNothingOfNothing) {
  EXPECT_EQ(render(json::array()), "");
  EXPECT_EQ(render(nullptr), "");
}

TEST(Render, CountsCharactersNotBytes) {
  EXPECT_EQ(render({{{"name", "ä"}, {"x", 1}}, {{"name", "bb"}, {"x", 2}}}), "name  x\nä     1\nbb    2\n");
}

TEST(Render, KeepsSignsAndFractions) {
  EXPECT_EQ(render({{{"a", -20000}, {"b", -1.005e4}}}), "      a           b\n-20,000  -10,050.00\n");
}

TEST(GroupDigits, BeginsAtFiveDigits) {
  EXPECT_EQ(group_digits(0), "0");
  EXPECT_EQ(group_digits(9999), "9999");
  EXPECT_EQ(group_digits(10000), "10,000");
  EXPECT_EQ(group_digits(18446744073709551615U), "18,446,744,073,709,551,615");
}

}  // namespace
}  // namespace penumbra::cli
