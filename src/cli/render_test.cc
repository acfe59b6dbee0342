// SPDX-License-Identifier: Apache-2.0
#include "cli/render.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penumbra::cli {
namespace {

using json = nlohmann::ordered_json;

TEST(Render, AlignsATableWithNamesFirstAndNumbersRight) {
  const json rows = {{{"packets", 7}, {"name", "wan"}, {"driver", "pcap"}},
                     {{"packets", 1234567}, {"name", "port-with-a-name"}, {"driver", "af_packet"}}};
  EXPECT_EQ(render(rows),
            "name              driver       packets\n"
            "wan               pcap               7\n"
            "port-with-a-name  af_packet  1,234,567\n");
}

TEST(Render, PutsSentencesLast) {
  EXPECT_EQ(render({{{"help", "no more"}, {"packets", 1}, {"reason", "full"}}}),
            "reason  packets  help\nfull          1  no more\n");
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

TEST(Render, WritesWhatIsNestedDeeperOnOneLine) {
  const json rows = {
      {{"packet", 1}, {"steps", {{{"stage", "ipv4"}, {"verdict", "send"}}, {{"stage", "x"}, {"verdict", "drop"}}}}}};
  EXPECT_EQ(render(rows), "packet  steps\n     1  stage ipv4; verdict send; stage x; verdict drop\n");
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
  EXPECT_EQ(render({{{"a", -20000}, {"b", 1.005e3}}}), "     a        b\n-20000  1005.00\n");
}

TEST(GroupDigits, BeginsAtFiveDigits) {
  EXPECT_EQ(group_digits(0), "0");
  EXPECT_EQ(group_digits(9999), "9999");
  EXPECT_EQ(group_digits(10000), "10,000");
  EXPECT_EQ(group_digits(18446744073709551615U), "18,446,744,073,709,551,615");
}

TEST(ReadableBytes, PicksTheUnit) {
  EXPECT_EQ(readable_bytes(1023), "1023 B");
  EXPECT_EQ(readable_bytes(1024), "1.0 KiB");
  EXPECT_EQ(readable_bytes(35651584), "34.0 MiB");
  EXPECT_EQ(readable_bytes(18446744073709551615U), "16.0 EiB");
}

}  // namespace
}  // namespace penumbra::cli
