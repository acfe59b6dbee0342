// SPDX-License-Identifier: Apache-2.0
//
// Provides the fixture for tests that send frames through a function.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/scratch_folder.h"
#include "engines/conformance.h"
#include "penumbra/config_node.h"
#include "penumbra/function.h"
#include "testing/function_runner.h"

namespace penumbra::function_testing {

/// Returns ports with these indices: 0, 1, ...
inline std::vector<PortInfo> numbered_ports(std::size_t count) {
  std::vector<PortInfo> ports(count);
  for (std::size_t i = 0; i < count; ++i) ports[i].index = static_cast<std::uint16_t>(i);
  return ports;
}

/// Holds a function and its ports. `name` is the function's name in configurations.
class FunctionTest : public testing::Test {
 protected:
  explicit FunctionTest(std::string name, std::vector<PortInfo> ports = numbered_ports(1))
      : ports_(std::move(ports)), name_(std::move(name)) {}
  ~FunctionTest() override { end_run(); }

  /// Writes a file that the configuration can name.
  void write(const std::string& file, const std::string& text) { std::ofstream(folder_.path() / file) << text; }
  ConfigNode parse(const std::string& config) const { return ConfigNode::parse(config, "test.yaml", folder_.path()); }
  /// Returns the function of a configuration. Throws as the function does.
  std::unique_ptr<Function> make(const std::string& config) {
    return find_function(name_)->create(parse(config), {ports_, no_readers_, feed_, later_ethertypes_});
  }
  /// Sends the following frames through the function of this configuration.
  void create(const std::string& config, const std::string& engine = "scalar") {
    end_run();
    function_ = make(config);
    function_->bind(ports_);
    runner_ = std::make_unique<Runner>(*function_, engine);
  }

  /// Sends packets through the function as one chunk, and returns the verdicts. Sets `trace_` of the first packet.
  std::vector<Verdict> send(std::vector<Packet>& packets, std::uint16_t rx_port = 0) {
    runner_->process(chunk_, packets, rx_port);
    trace_ = runner_->trace(chunk_, 0);
    return {chunk_.verdicts.begin(), chunk_.verdicts.begin() + chunk_.size};
  }
  /// Sends one frame through the function. Sets `out_` to the frame that the function leaves.
  Verdict send(const Bytes& frame, std::uint16_t rx_port = 0, std::size_t headroom = 0) {
    std::vector<Packet> packets;
    packets.emplace_back(frame, headroom);
    const Verdict verdict = send(packets, rx_port).front();
    out_ = packets.front().frame();
    if (!reason_of(*function_, verdict).empty()) {
      EXPECT_EQ(out_, frame) << "a packet that is not sent stays as it came";
    }
    return verdict;
  }
  /// Sends one frame through the function, and returns the reason (reason_of()).
  std::string reason(const Bytes& frame, std::uint16_t rx_port = 0) {
    return reason_of(*function_, send(frame, rx_port));
  }

  ScratchFolder folder_;
  NoReaders no_readers_;
  std::vector<PortInfo> ports_;
  RouteFeed* feed_ = nullptr;
  std::vector<std::uint16_t> later_ethertypes_;
  std::unique_ptr<Function> function_;
  std::unique_ptr<Runner> runner_;
  Chunk chunk_;
  Bytes out_;
  std::string trace_;

 private:
  void end_run() {
    if (runner_ != nullptr) conformance::expect_no_device_failure(runner_->engine());
    runner_.reset();
  }

  const std::string name_;
};

}  // namespace penumbra::function_testing
