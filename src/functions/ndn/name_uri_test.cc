// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/name_uri.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "tables/ndn_names/name_oracle.h"

namespace penumbra::ndn {
namespace {

using testing_support::Components;
using testing_support::encoded;

/// Expects `uri` to parse to `components`, and the components to be written as `written`.
void expect_name(const std::string& uri, const Components& components, const std::string& written) {
  EXPECT_EQ(parse_name_uri(uri), encoded(components)) << uri;
  EXPECT_EQ(to_uri(as_bytes(encoded(components))), written);
}
void expect_same(const std::string& uri, const Components& components) {
  expect_name(uri, components, uri);
}

TEST(NameUri, ReadsAndWritesNames) {
  expect_same("/", {});
  expect_same("/ndn/edu/ucla", {{8, "ndn"}, {8, "edu"}, {8, "ucla"}});
  expect_name("ndn:/a", {{8, "a"}}, "/a");
  expect_same("/a-b._~Z09", {{8, "a-b._~Z09"}});
  expect_name("/%41%2f%00", {{8, std::string("A/\0", 3)}}, "/A%2F%00");
  expect_name("/a+b:c", {{8, "a+b:c"}}, "/a%2Bb%3Ac");
  expect_same("/.../....", {{8, ""}, {8, "."}});
  expect_same("/.a", {{8, ".a"}});
  expect_same("/32=meta/65535=...", {{32, "meta"}, {65535, ""}});
  expect_name("/8=a", {{8, "a"}}, "/a");
  expect_name("/v=1/seg=258", {{54, "\x01"}, {50, "\x01\x02"}}, "/54=%01/50=%01%02");
  expect_name("/seq=4294967296", {{58, std::string("\0\0\0\1\0\0\0\0", 8)}}, "/58=%00%00%00%01%00%00%00%00");
  expect_same("/a/sha256digest=" + std::string(32, 'a') + std::string(32, '0'),
              {{8, "a"}, {1, std::string(16, '\xaa') + std::string(16, '\0')}});
  expect_same("/params-sha256=" + std::string(64, '1'), {{2, std::string(32, '\x11')}});
}

void expect_error(const std::string& uri, std::size_t at, const std::string& part) {
  try {
    parse_name_uri(uri);
    FAIL() << uri;
  } catch (const NameUriError& error) {
    EXPECT_EQ(error.at(), at) << uri << ": " << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(NameUri, SaysWhereATextIsNoName) {
  expect_error("", 0, "begins with '/'");
  expect_error("a/b", 0, "begins with '/'");
  expect_error("ndn:", 4, "begins with '/'");
  expect_error("/a//b", 3, "an empty one is written '...'");
  expect_error("/a/", 3, "expected a component");
  expect_error("/..", 1, "expected a component");
  expect_error("/a%4", 2, "hexadecimal");
  expect_error("/a%4/b", 2, "hexadecimal");
  expect_error("/a%zz", 2, "hexadecimal");
  expect_error("/a/0=b", 3, "1 to 65535");
  expect_error("/65536=b", 1, "1 to 65535");
  expect_error("/x=b", 1, "%3D");
  expect_error("/seg=x", 5, "number");
  expect_error("/seg=18446744073709551616", 5, "number");
  expect_error("/sha256digest=00", 14, "64 hexadecimal digits");
}

TEST(NameUri, WritesWhatItReads) {
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    Components components(random.below(6));
    for (auto& [type, value] : components) {
      type = random.below(2) == 0 ? std::uint16_t{kGenericType} : static_cast<std::uint16_t>(1 + random.below(300));
      value.resize(type <= kParametersDigestType ? kComponentDigestBytes : random.below(5));
      for (char& byte : value) byte = static_cast<char>(random.below(4) == 0 ? '.' : random.below(256));
    }
    const std::string name = encoded(components);
    ASSERT_EQ(parse_name_uri(to_uri(as_bytes(name))), name) << to_uri(as_bytes(name));
  }
}

}  // namespace
}  // namespace penumbra::ndn
