// SPDX-License-Identifier: Apache-2.0
#include "control/config_lines.h"

#include <gtest/gtest.h>

#include <string>

#include "control/routes.h"

namespace penumbra::control {
namespace {

/// Returns the error of the routes in a configuration, or "" if there is none.
std::string error_in(const std::string& config) {
  const ConfigNode routes = ConfigNode::parse(config, "router.yaml", ".").at("routes");
  try {
    parse_config_lines(routes, [](const auto& text, const auto& name) { return parse_routes(text, name, {"lan"}); });
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kLam = " expected the name of a port, found 'lam'; did you mean 'lan'?";

TEST(ConfigLines, GiveLineAndColumnOfALiteralText) {
  EXPECT_EQ(error_in("routes: |\n  default dev lan\n  10.0.0.0/8 dev lam\n"), std::string("router.yaml:3:18:") + kLam);
  EXPECT_EQ(error_in("routes: |\n  default dev lam"), std::string("router.yaml:2:15:") + kLam);
  EXPECT_EQ(error_in("routes: |  # all of them\n\n  # the default\n    default dev lam\n"),
            std::string("router.yaml:4:17:") + kLam);
  EXPECT_EQ(error_in("routes: |1\n   default dev lam\n"), std::string("router.yaml:2:16:") + kLam);
  EXPECT_EQ(error_in("routes: |\r\n  default dev lan\r\n  default dev lam\r\n"),
            std::string("router.yaml:3:15:") + kLam);
  EXPECT_EQ(error_in("routes: |\n  default dev lan metric 1\n  default nexthop dev lan\n    nexthop dev lam\n"),
            std::string("router.yaml:4:17:") + kLam);
}

TEST(ConfigLines, GiveTheBeginningOfAnotherText) {
  EXPECT_EQ(error_in("routes: \"default dev lan\\n10.0.0.0/8 dev lam\"\nname: x\n"),
            std::string("router.yaml:1:9:") + kLam);
  EXPECT_EQ(error_in("routes: >\n  default dev lan\n\n  10.0.0.0/8\n  dev lam\n"),
            std::string("router.yaml:1:9:") + kLam);
}

TEST(ConfigLines, GiveTheElementOfAList) {
  EXPECT_EQ(error_in("routes: [default dev lan, 10.0.0.0/8 dev lam]"), std::string("router.yaml:1:27:") + kLam);
}

TEST(ConfigLines, GiveTheFirstWordWithoutAColumn) {
  const ConfigNode table = ConfigNode::parse("rules: |\n  permit\n    deny\n", "router.yaml", ".").at("rules");
  EXPECT_STREQ(error_at(table, 2, "no").what(), "router.yaml:3:5: no");
}

}  // namespace
}  // namespace penumbra::control
