// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/verify/fast_pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "functions/ids/rules/testing.h"

namespace penumbra::ids {
namespace {

FastPattern chosen(const std::string& options) {
  return choose_fast_pattern(parse_options(options, "tcp")).value();
}

TEST(FastPattern, IsTheContentThatTheRuleNames) {
  EXPECT_EQ(chosen(R"(content:"long content"; content:"b"; fast_pattern;)").bytes, "b");
  EXPECT_EQ(chosen(R"(content:"abcdef"; fast_pattern:2,3; content:"longer content";)").bytes, "cde");
  EXPECT_EQ(chosen(R"(content:"abc"; http_uri; nocase; fast_pattern:only;)").buffer, Buffer::http_uri);
}

TEST(FastPattern, IsElseTheRarestPositiveContent) {
  EXPECT_EQ(chosen(R"(content:"ab"; content:"abcd"; content:!"abcdefgh";)").bytes, "abcd");
  EXPECT_EQ(chosen(R"(content:"abcd"; content:"|00 00 00 00 00 00|";)").bytes, "abcd");
  EXPECT_EQ(chosen(R"(content:"aAaAaA"; nocase; content:"abc";)").bytes, "abc");
  EXPECT_EQ(chosen(R"(content:"abcd"; content:"bcde"; http_uri;)").buffer, Buffer::http_uri);
  EXPECT_TRUE(chosen(R"(content:"AbC"; nocase;)").nocase);
}

TEST(FastPattern, IsAbsentWithoutAPositiveContent) {
  EXPECT_FALSE(choose_fast_pattern(parse_options(R"(content:!"a"; pcre:"/b/";)", "tcp")).has_value());
  EXPECT_FALSE(choose_fast_pattern(parse_options("ttl:1;")).has_value());
  EXPECT_FALSE(choose_fast_pattern(parse_options(R"(content:!"a"; fast_pattern;)", "tcp")).has_value());
}

}  // namespace
}  // namespace penumbra::ids
