// SPDX-License-Identifier: Apache-2.0
#include "penumbra/errors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace penumbra {
namespace {

/// Implements the definition literally.
std::size_t distance_by_definition(const std::string& a, const std::string& b) {
  if (a.empty()) return b.size();
  if (b.empty()) return a.size();
  const std::string a_rest = a.substr(1);
  const std::string b_rest = b.substr(1);
  if (a[0] == b[0]) return distance_by_definition(a_rest, b_rest);
  std::size_t least = std::min(
      {distance_by_definition(a_rest, b), distance_by_definition(a, b_rest), distance_by_definition(a_rest, b_rest)});
  const bool swapped = a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0];
  if (swapped) least = std::min(least, distance_by_definition(a.substr(2), b.substr(2)));
  return 1 + least;
}

TEST(EditDistance, FollowsItsDefinition) {
  std::mt19937 random(1);
  const auto word = [&random] {
    std::string text(random() % 6, ' ');
    for (char& letter : text) letter = static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int i = 0; i < 2'000; ++i) {
    const std::string a = word();
    const std::string b = word();
    ASSERT_EQ(edit_distance(a, b), distance_by_definition(a, b)) << a << " " << b;
  }
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("snik", "sink"), 1U);
}

TEST(DidYouMean, NamesTheNearestOrNothing) {
  const std::vector<std::string> keys{"ports", "workers", "pipeline"};
  EXPECT_EQ(did_you_mean("port", keys), "did you mean 'ports'?");
  EXPECT_EQ(did_you_mean("pipleine", keys), "did you mean 'pipeline'?");
  EXPECT_EQ(did_you_mean("xyz", keys), "");
  EXPECT_EQ(did_you_mean("", keys), "");
  EXPECT_EQ(did_you_mean("ports", std::vector<std::string>{}), "");
  EXPECT_EQ(did_you_mean(std::string(1'000'000, 'p'), keys), "");
  EXPECT_EQ(did_you_mean("cuda", std::vector<std::string>{"auto", "scalar"}), "");
  EXPECT_EQ(did_you_mean("rnu", std::vector<std::string>{"gen", "run"}), "did you mean 'run'?");
  EXPECT_EQ(did_you_mean("x", std::vector<std::string>{"a"}), "");
}

TEST(DidYouMean, ListsWhatThereIs) {
  EXPECT_EQ(did_you_mean_or_list("cuda", std::vector<std::string>{"auto", "scalar"}), "there are: auto, scalar");
  EXPECT_EQ(did_you_mean_or_list("scaler", std::vector<std::string>{"auto", "scalar"}), "did you mean 'scalar'?");
  EXPECT_EQ(did_you_mean_or_list("cuda", std::vector<std::string>{}), "");
  const std::string many = did_you_mean_or_list("cuda", std::vector<std::string>(1000, "reason"));
  EXPECT_TRUE(many.ends_with(", reason, ..."));
  EXPECT_LT(many.size(), 500U);
}

TEST(Quote, EscapesWhatATerminalWouldObeyAndCutsWhatIsLong) {
  EXPECT_EQ(quote("wan-1"), "'wan-1'");
  EXPECT_EQ(quote(""), "''");
  EXPECT_EQ(quote(std::string("\x1b[2J\0\xff", 6)), "'\\x1b[2J\\x00\\xff'");
  EXPECT_EQ(quote(std::string(60, 'x')), "'" + std::string(60, 'x') + "'");
  EXPECT_EQ(quote(std::string(61, 'x')), "'" + std::string(60, 'x') + "...'");
}

TEST(InputError, LeavesOutWhatIsUnknown) {
  EXPECT_STREQ(InputError({"f", 3, 4}, "m").what(), "f:3:4: m");
  EXPECT_STREQ(InputError({"f", 3, 0}, "m").what(), "f:3: m");
  EXPECT_STREQ(InputError({"f", 0, 4}, "m").what(), "f: m");
  EXPECT_STREQ(InputError({}, "m").what(), "m");
  EXPECT_EQ(InputError({"f", 3, 4}, "m").location().column, 4);
}

}  // namespace
}  // namespace penumbra
