// SPDX-License-Identifier: Apache-2.0
#include "runtime/config_keys.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penumbra::runtime {
namespace {

constexpr const char* kConfig = R"(ports:
  - {name: wan, device: none}
  - {name: lan, device: none, addresses: [10.1.0.1/24]}
control: {socket: ctl}
pipeline:
  - flows: {export: {collector: "192.0.2.9:1"}}
  - echo
  - ipv4:
      routes: |
        10.0.0.0/8 dev wan
        11.0.0.0/8 dev lam
      neighbours: [192.0.2.1 dev lan, 192.0.2.2 dev lam]
)";

/// Returns the message of an error at this place of the configuration.
std::string said(int line, int column, const std::string& message) {
  static const std::vector<std::string> kStages{"flows", "echo", "ipv4"};
  const InputError error({.file = "text", .line = line, .column = column}, message);
  return at_key(error, ConfigNode::parse(kConfig, "text", {}), kStages).what();
}

TEST(AtKey, NamesPortsAndFunctions) {
  EXPECT_EQ(said(2, 24, "expected a device for ports[0].device, found 'x'"),
            "ports.wan.device: expected a device, found 'x'");
  EXPECT_EQ(said(3, 5, "'mtu' is missing in ports[1]"), "ports.lan: 'mtu' is missing in ports.lan");
  EXPECT_EQ(said(6, 34, "wrong pipeline[0].flows.export"), "flows.export.collector: wrong flows.export");
  EXPECT_EQ(said(7, 5, "no"), "echo: no");
  EXPECT_EQ(said(4, 19, "no"), "control.socket: no");
  EXPECT_EQ(said(0, 0, "is empty"), "is empty");
}

TEST(AtKey, NamesTheEntryOfATable) {
  EXPECT_EQ(said(11, 0, "found 'lam'"), "ipv4.routes: '11.0.0.0/8 dev lam': found 'lam'");
  EXPECT_EQ(said(11, 0, "this is in line 1 already"), "ipv4.routes: '11.0.0.0/8 dev lam': this is in line 1 already");
  EXPECT_EQ(said(10, 0, "'10.0.0.0/8 dev wan' is wrong"), "ipv4.routes: '10.0.0.0/8 dev wan' is wrong");
  EXPECT_EQ(said(12, 39, "found 'lam'"), "ipv4.neighbours: '192.0.2.2 dev lam': found 'lam'");
}

TEST(AtKey, NamesThePortInAnotherLine) {
  EXPECT_EQ(said(2, 11, "the name is in line 3 already"), "ports.wan.name: the name is in ports.lan already");
  EXPECT_EQ(said(3, 43, "'x' is in line 2 already"), "ports.lan.addresses: 'x' is in ports.wan already");
}

}  // namespace
}  // namespace penumbra::runtime
