// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/table_choice.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace penumbra::control::netlink {
namespace {

TEST(NetlinkTable, IsANumberANameOrAVrf) {
  const auto file = std::filesystem::path(testing::TempDir()) / "rt_tables";
  std::ofstream(file) << "# a comment\n255\tlocal\n100 blue # one more\n0x1ff\thex\nnonsense\n12x odd\n\n";
  const auto parse = [&](const char* text) { return parse_table(text, {file, "/nonexistent"}); };
  EXPECT_EQ(parse("main"), TableChoice(254U));
  EXPECT_EQ(parse("local"), TableChoice(255U));
  EXPECT_EQ(parse("blue"), TableChoice(100U));
  EXPECT_EQ(parse("hex"), TableChoice(511U));
  EXPECT_EQ(parse("4294967295"), TableChoice(4294967295U));
  EXPECT_EQ(parse("vrf blue"), TableChoice("blue"));
  for (const char* text : {"", "0", "odd", "-1", "4294967296", "vrf", "vrf ", "vrf  red", "vrf a b",
                           "vrf a_name_of_more_than_15_letters", "bleu"}) {
    EXPECT_THROW(parse(text), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace penumbra::control::netlink
