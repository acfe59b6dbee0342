// SPDX-License-Identifier: Apache-2.0
#include "functions/l2/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "testing/message_of.h"

namespace penumbra::l2 {
namespace {

using testing::HasSubstr;

std::vector<PortInfo> two_ports() {
  std::vector<PortInfo> ports(2);
  for (std::uint16_t i = 0; i < 2; ++i) {
    ports[i].name = "p" + std::to_string(i);
    ports[i].index = i;
  }
  return ports;
}

TEST(SwitchConfiguration, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{port: {}}", "did you mean 'ports'?"},
      {"{ports: {q0: {}}}", "did you mean 'p0'?"},
      {"{ports: {p0: {access: 0}}}", "ports.p0.access"},
      {"{ports: {p0: {access: 4095}}}", "4094"},
      {"{ports: {p0: {access: 1, trunk: {vlans: [1]}}}}", "not both"},
      {"{ports: {p0: {trunk: {}}}}", "vlans"},
      {"{ports: {p0: {trunk: {vlans: []}}}}", "expected at least one VLAN"},
      {"{ports: {p0: {trunk: {vlans: [20-10]}}}}", "found '20-10'"},
      {"{ports: {p0: {trunk: {vlans: [1-4095]}}}}", "found '1-4095'"},
      {"{ports: {p0: {trunk: {vlans: [x]}}}}", "found 'x'"},
      {"{ports: {p0: {storm_control: {broadcast: 0}}}}", "broadcast"},
      {"{ageing: 1000001}", "1000000"},
      {"{max_stations: 0}", "max_stations"},
      {"{static: [{mac: \"01:00:5e:00:00:01\", port: p0}]}", "expected the MAC address of a station"},
      {"{static: [{mac: \"02:00:00:00:00:01\", port: p9}]}", "there is no port 'p9'"},
      {"{static: [{mac: \"02:00:00:00:00:01\", vlan: 2, port: p0}]}", "no member of VLAN 2"},
      {"{static: [{mac: \"02:00:00:00:00:01\", port: p0}, {mac: \"02:00:00:00:00:01\", port: p1}]}", "already"},
      {"{ports: {p0: {trunk: {vlans: [2]}}}, static: [{mac: \"02:00:00:00:00:01\", port: p0}]}", "expected a vlan"},
      {"{max_stations: 1, static: [{mac: \"02:00:00:00:00:01\", port: p0}, {mac: \"02:00:00:00:00:02\", port: p1}]}",
       "these are 2 stations"},
  };
  for (const auto& [text, wanted] : cases) {
    EXPECT_THAT(message_of([&] { read_configuration(ConfigNode::parse(text, "test.yaml", "."), two_ports()); }),
                HasSubstr(wanted))
        << text;
  }
}

}  // namespace
}  // namespace penumbra::l2
