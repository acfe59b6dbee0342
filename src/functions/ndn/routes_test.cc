// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/routes.h"

#include <gtest/gtest.h>

#include <string>

#include "control/bad_case.h"
#include "functions/ndn/name_uri.h"

namespace penumbra::ndn {
namespace {

class NameRoutes : public testing::Test {
 protected:
  void parse(const std::string& text) { parse_name_routes(text, "names.txt", {"alice", "bob"}, table_); }
  std::optional<std::uint16_t> find(const std::string& uri) { return table_.find(as_bytes(parse_name_uri(uri))); }
  void expect_error(const std::string& text, int line, int column, const std::string& part) {
    control::expect_refused({text, line, column, part}, "names.txt", [&] { parse(text); });
  }

  NoReaders no_readers_;
  NameTable table_{{1, 2}, no_readers_};
};

TEST_F(NameRoutes, AreRead) {
  parse("# faces\n\n/ alice\n/ndn/edu  nexthop bob # west\r\nndn:/ndn/%00 alice\n");
  EXPECT_EQ(table_.size(), 3U);
  EXPECT_EQ(find("/"), 0);
  EXPECT_EQ(find("/ndn/edu"), 1);
  EXPECT_EQ(find("/ndn/%00"), 0);
  EXPECT_EQ(find("/ndn"), std::nullopt);
}

TEST_F(NameRoutes, SayWhatIsWrongWithThemAndWhere) {
  expect_error("/a alice\n/b/%4z bob\n", 2, 4, "hexadecimal");
  expect_error("x alice\n", 1, 1, "begins with '/'");
  expect_error("/c\n", 1, 3, "expected the name of a face");
  expect_error("/c nexthop\n", 1, 11, "expected the name of a face");
  expect_error("/c bobb\n", 1, 4, "did you mean 'bob'?");
  expect_error("/c bob cost 1\n", 1, 8, "end of the line");
  expect_error("/d bob\n/e bob\n/d alice\n", 3, 1, "is given twice");
  std::string deep;
  for (std::uint32_t i = 0; i <= NameTable::kMostComponents; ++i) deep += "/x";
  expect_error(deep + " bob\n", 1, 1, "at most 24 components");
}

}  // namespace
}  // namespace penumbra::ndn
