// SPDX-License-Identifier: Apache-2.0
//
// Runs the function in the way in which a pipeline does, for tests.
#pragma once

#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "functions/gswitch/gswitch.h"
#include "functions/gswitch/testing.h"
#include "testing/function_fixture.h"
#include "testing/pool_packets.h"

namespace penumbra::gswitch::testing_support {

using function_testing::Fate;

inline Fate dropped(std::string reason) {
  return {.reason = std::move(reason)};
}

inline std::vector<PortInfo> four_ports() {
  auto ports = function_testing::numbered_ports(4);
  for (PortInfo& port : ports) port.name = "p" + std::to_string(port.index + 1);
  ports[3].mtu = 500;
  return ports;
}

class GSwitchTest : public function_testing::FunctionTest {
 protected:
  GSwitchTest() : FunctionTest("gswitch", four_ports()) {}
  ~GSwitchTest() override { EXPECT_EQ(rte_mempool_in_use_count(function_testing::packet_memory()), 0U); }

  std::unique_ptr<Function> make(const std::string& flows, const std::string& more = "") {
    write("table", flows);
    return FunctionTest::make("{flows: table" + more + "}");
  }
  void create(const std::string& flows, const std::string& more = "", const std::string& engine = "scalar") {
    write("table", flows);
    FunctionTest::create("{flows: table" + more + "}", engine);
  }
  /// Processes a frame. `rx_port` is the index of the ingress port.
  Fate fate(const Bytes& frame, std::uint16_t rx_port = 0) {
    chunk_.size = 1;
    chunk_.packets[0] = function_testing::packet_of(frame);
    runner_->process(chunk_, rx_port);
    trace_ = runner_->trace(chunk_, 0);
    out_ = function_testing::bytes_of(*chunk_.packets[0]);
    Fate fate = function_testing::take(*function_, chunk_, 0);
    EXPECT_NE(fate.reason, "pass");
    if (chunk_.verdicts[0].kind == Verdict::Kind::punt) fate.reason = "punt " + fate.reason;
    return fate;
  }
  Fate fate(const FrameSpec& spec, std::uint16_t rx_port = 0) { return fate(spec.bytes(), rx_port); }
  std::string reason(const FrameSpec& spec, std::uint16_t rx_port = 0) { return fate(spec, rx_port).reason; }
  nlohmann::ordered_json row(std::size_t place) { return function_->show("gswitch", {})["gswitch"].at(place); }
};

}  // namespace penumbra::gswitch::testing_support
